"""Sentence vectors: of each text once, kept in `CACHE` by encoder and text, outside what DVC deletes."""

from __future__ import annotations

import hashlib
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from shared.errors import UserError
from shared.frames import read
from shared.weights import sha256

CACHE = Path(".cache/embeddings.parquet")

BATCH = 64
MOST_THREADS = 8

SCHEMA = pa.schema(
    [
        ("text", pa.string()),
        ("vector", pa.list_(pa.float32())),
        ("encoder", pa.string()),
        ("cut", pa.bool_()),
    ]
)
"""``cut``: the text was longer than the encoder reads, so that its vector is of its beginning alone."""

Array = npt.NDArray[np.floating[Any]]

Encode = Callable[[Sequence[str]], tuple[Array, Sequence[bool]]]
"""Texts to vectors of length 1, shape (n, d), and which of the texts were cut."""

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}")


def write_vectors(path: Path, texts: Sequence[str], encoder: str, param: str) -> None:
    """What a study's stage ``embed`` does: vectors of its texts, known or made, in a file.

    Parameters
    ----------
    path : Path
    texts : sequence of str
        Distinct.
    encoder, param : str
        As for `encoder_id`.

    Raises
    ------
    UserError
        If the encoder is not there, or cannot be loaded.
    """
    table = embed(texts, encoder_id(encoder, param), partial(encode_with, encoder, param), CACHE)
    write(table, path)
    if cut := int(table["cut"].sum()):
        print(f"{cut} texts are longer than the encoder reads: their vectors are of their beginnings")


def embed(texts: Sequence[str], encoder: str, encode: Encode, cache: Path) -> pd.DataFrame:
    """Vectors of all texts, in their order; what the cache lacks is encoded and added to it.

    Parameters
    ----------
    texts : sequence of str
        Distinct.
    encoder : str
        What the cache knows the encoder by, from `encoder_id`.
    encode : callable
        Called once with the texts that are lacking, in their order; not at all where none is.
    cache : Path
        Made where it is absent; a damaged one is told and begun anew.

    Returns
    -------
    DataFrame
        The columns of `SCHEMA`.
    """
    known = _cached(cache)
    lacking = _without(texts, known, encoder)
    if lacking:
        known = pd.concat([known, _encoded(lacking, encoder, encode)], ignore_index=True)
        write(known, cache)
    print(f"{len(texts)} texts: {len(lacking)} embedded by {encoder}, the others were known")
    return known[known["encoder"] == encoder].set_index("text").loc[list(texts)].reset_index()


def _without(texts: Sequence[str], known: pd.DataFrame, encoder: str) -> list[str]:
    have = set(known.loc[known["encoder"] == encoder, "text"])
    return [text for text in texts if text not in have]


def _encoded(texts: list[str], encoder: str, encode: Encode) -> pd.DataFrame:
    vectors, cut = encode(texts)
    rows = [vector.astype(np.float32) for vector in vectors]
    return pd.DataFrame({"text": texts, "vector": rows, "encoder": encoder, "cut": list(cut)})


def _cached(cache: Path) -> pd.DataFrame:
    """What the cache holds: nothing where it is absent, or is no table of ours."""
    if cache.exists():
        try:
            return pd.read_parquet(cache, columns=SCHEMA.names)
        except (OSError, ValueError, pa.ArrowException):
            print(f"warning: {cache}: damaged; all texts are embedded again", file=sys.stderr)
    return SCHEMA.empty_table().to_pandas()


def write(table: pd.DataFrame, path: Path) -> None:
    """Write rows of `SCHEMA`; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".embedding-") as folder:
        made = Path(folder, path.name)
        table.to_parquet(made, index=False, schema=SCHEMA)
        os.replace(made, path)


def read_vectors(path: Path) -> dict[str, Array]:
    """A stage's vectors by text.

    Raises
    ------
    UserError
        If the stage has not run, or its file is damaged.
    """
    table = read(path, "embed")
    return dict(zip(table["text"], table["vector"], strict=True))


# --- The encoder --------------------------------------------------------------------------------------


def encoder_id(encoder: str, param: str) -> str:
    """What a vector's encoder is known by: another folder with the same files makes the same vectors.

    Parameters
    ----------
    encoder : str
        A folder, or ``owner/name@<commit>`` on the hub.
    param : str
        The key of params that names it, for the error.

    Returns
    -------
    str
        The hub's id as it is; a folder's name with a hash of its files.

    Raises
    ------
    UserError
        If it is neither.
    """
    if _HUB_ID.fullmatch(encoder):
        return encoder
    folder = Path(encoder)
    if not folder.is_dir():
        raise UserError(
            f"{encoder}: no such folder; run `make install` to unpack the embedded encoder, or name in "
            f"{param} a folder or owner/name@<40 hex digits of a commit>"
        )
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(f"{file.relative_to(folder).as_posix()}\x1f{sha256(file)}\n".encode())
    return f"{folder.name}@{digest.hexdigest()[:12]}"


def encode_with(encoder: str, param: str, texts: Sequence[str]) -> tuple[Array, list[bool]]:
    """Embed texts with a sentence encoder, on the CPU, so that every machine gets the same numbers.

    Parameters
    ----------
    encoder, param : str
        As for `encoder_id`.
    texts : sequence of str

    Returns
    -------
    vectors : ndarray, shape (n, d)
        Of length 1. A vector's last digits depend on the texts that share its batch.
    cut : list of bool
        Which texts are longer than the encoder reads.

    Raises
    ------
    UserError
        If the encoder cannot be loaded.
    """
    # Imported here: torch alone takes seconds, and a run that finds all vectors in the cache needs none.
    import torch

    torch.set_num_threads(min(os.cpu_count() or 1, MOST_THREADS))
    model = _load(encoder, param)
    vectors = model.encode(
        list(texts),
        batch_size=BATCH,
        normalize_embeddings=True,
        convert_to_numpy=True,
        show_progress_bar=False,
    )
    return np.asarray(vectors), _cut(model, texts)


def _load(encoder: str, param: str) -> Any:
    from sentence_transformers import SentenceTransformer

    name, _, revision = encoder.partition("@") if _HUB_ID.fullmatch(encoder) else (encoder, "", "")
    try:
        return SentenceTransformer(name, revision=revision or None, device="cpu")
    except (OSError, ValueError) as error:  # what is told of a folder that holds no encoder varies
        words = " ".join(str(error).split())[:200]
        raise UserError(
            f"{encoder}: no sentence encoder can be loaded from it ({words}); name another in {param}"
        ) from error


def _cut(model: Any, texts: Sequence[str]) -> list[bool]:
    limit = model.max_seq_length
    if limit is None or math.isinf(limit):
        return [False] * len(texts)
    # Said twice, since the embedded tokenizer's own file asks for 128 tokens, cut or filled up.
    tokens = model.tokenizer(list(texts), truncation=False, padding=False, verbose=False)["input_ids"]
    return [len(ids) > limit for ids in tokens]
