"""Sentence vectors: what the cache spares, how a stage ends, and how the encoder is called."""

import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from shared import embedding
from shared.embedding import SCHEMA, embed, encode_with, encoder_id, read_vectors, write, write_vectors
from shared.errors import UserError
from shared.weights import ENCODER

ROOT = Path(__file__).parents[2]
COMMIT = "0123456789" * 4
PARAM = "some_study.encoder"


class Lengths:
    """An encoder whose vector is a text's length and 1; it remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, texts):
        self.asked.append(list(texts))
        return np.array([[len(text), 1.0] for text in texts]), [len(text) > 5 for text in texts]


# --- The cache --------------------------------------------------------------------------------------


def test_only_what_is_lacking_is_encoded(tmp_path, capsys):
    cache, encode = tmp_path / "new/embeddings.parquet", Lengths()
    first = embed(["a", "bbb"], "lengths", encode, cache)
    again = embed(["a", "bbb", "cccccc"], "lengths", encode, cache)
    assert encode.asked == [["a", "bbb"], ["cccccc"]]
    assert list(first.columns) == SCHEMA.names
    assert first["text"].tolist() == ["a", "bbb"]
    assert np.stack(again["vector"]).tolist() == [[1, 1], [3, 1], [6, 1]]
    assert again["cut"].tolist() == [False, False, True]  # remembered, not asked again
    assert "3 texts: 1 embedded by lengths" in capsys.readouterr().out


def test_nothing_lacking_asks_nobody(tmp_path):
    cache = tmp_path / "embeddings.parquet"
    embed(["b", "a"], "lengths", Lengths(), cache)
    encode = Lengths()
    table = embed(["a"], "lengths", encode, cache)
    assert encode.asked == [] and table["text"].tolist() == ["a"]
    assert embed([], "lengths", encode, tmp_path / "none.parquet").empty
    assert encode.asked == [] and not (tmp_path / "none.parquet").exists()


def test_another_encoder_shares_nothing(tmp_path):
    cache, encode = tmp_path / "embeddings.parquet", Lengths()
    embed(["a"], "lengths", encode, cache)
    other = embed(["a"], "others", lambda texts: (np.array([[0.0, 7.0]]), [False]), cache)
    assert np.stack(other["vector"]).tolist() == [[0, 7]]
    kept = embed(["a"], "lengths", encode, cache)
    assert np.stack(kept["vector"]).tolist() == [[1, 1]] and len(encode.asked) == 1


@pytest.mark.parametrize("content", [b"no table", b""])
def test_a_damaged_cache_is_told_and_replaced(tmp_path, capsys, content):
    cache, encode = tmp_path / "embeddings.parquet", Lengths()
    cache.write_bytes(content)
    embed(["a"], "lengths", encode, cache)
    assert "damaged" in capsys.readouterr().err
    embed(["a"], "lengths", encode, cache)
    assert encode.asked == [["a"]]


def test_a_cache_of_other_columns_is_replaced(tmp_path, capsys):
    cache, encode = tmp_path / "embeddings.parquet", Lengths()
    pd.DataFrame({"text": ["a"], "vector": [[1.0]], "encoder": ["lengths"]}).to_parquet(cache)
    assert embed(["a"], "lengths", encode, cache)["cut"].tolist() == [False]
    assert "damaged" in capsys.readouterr().err


def test_an_encoder_that_fails_leaves_the_cache(tmp_path):
    cache = tmp_path / "embeddings.parquet"
    embed(["a"], "lengths", Lengths(), cache)
    before = cache.read_bytes()

    def fails(texts):
        raise RuntimeError("no memory")

    with pytest.raises(RuntimeError):
        embed(["a", "b"], "lengths", fails, cache)
    assert cache.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [cache.name]


def test_vectors_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "embeddings.parquet"
    write(embed(["a", "cccccc"], "lengths", Lengths(), tmp_path / "cache.parquet"), path)
    vectors = read_vectors(path)
    assert list(vectors) == ["a", "cccccc"]
    assert vectors["cccccc"].dtype == np.float32 and vectors["cccccc"].tolist() == [6, 1]
    with pytest.raises(UserError, match=r"absent.parquet: absent; run the `embed` stage"):
        read_vectors(tmp_path / "absent.parquet")


# --- The encoder ------------------------------------------------------------------------------------


def test_a_folder_is_known_by_its_files(tmp_path):
    for parent in ("here", "there"):
        folder = tmp_path / parent / "encoder"
        (folder / "pooling").mkdir(parents=True)
        (folder / "model").write_bytes(b"weights")
        (folder / "pooling/config").write_bytes(b"mean")
    here, there = (tmp_path / parent / "encoder" for parent in ("here", "there"))
    known = encoder_id(str(here), PARAM)
    assert encoder_id(str(there), PARAM) == known
    assert known.startswith("encoder@") and str(tmp_path) not in known
    (there / "pooling/config").write_bytes(b"cls")
    assert encoder_id(str(there), PARAM) != known


def test_what_is_neither_folder_nor_commit_is_an_error():
    assert encoder_id(f"owner/name@{COMMIT}", PARAM) == f"owner/name@{COMMIT}"
    for absent in ("weights/no-such-encoder", "owner/name@main", "owner/name"):
        with pytest.raises(UserError, match=f"{absent}: no such folder; run `make install`") as told:
            encoder_id(absent, PARAM)
        assert "\n" not in str(told.value) and PARAM in str(told.value)


class Model:
    """Stands for a loaded sentence encoder that reads three words of a text."""

    loaded, asked = [], {}
    max_seq_length = 3

    def __init__(self, name, revision=None, device=None):
        if "broken" in name:
            raise OSError("no config.json\nin the folder")
        self.loaded.append((name, revision, device))

    def encode(self, texts, **options):
        self.asked.update(options, texts=texts)
        return np.ones((len(texts), 2), dtype=np.float32)

    def tokenizer(self, texts, truncation, padding, verbose):
        assert truncation is padding is verbose is False
        return {"input_ids": [text.split() for text in texts]}


@pytest.fixture
def model(monkeypatch):
    """The libraries, put in place of the real ones, which take seconds to import."""
    threads = []
    torch = types.SimpleNamespace(set_num_threads=threads.append)
    library = types.SimpleNamespace(SentenceTransformer=Model)
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    monkeypatch.setattr(Model, "loaded", [])
    monkeypatch.setattr(Model, "asked", {})
    return types.SimpleNamespace(threads=threads, seen=Model)


def test_the_encoder_is_asked_in_batches_for_unit_vectors(model):
    vectors, cut = encode_with("a/folder", PARAM, ("one two three", "one two three four"))
    assert vectors.shape == (2, 2) and cut == [False, True]
    assert model.seen.asked["texts"] == ["one two three", "one two three four"]
    assert model.seen.asked["batch_size"] == embedding.BATCH
    assert model.seen.asked["normalize_embeddings"] is True
    assert model.seen.loaded == [("a/folder", None, "cpu")]
    assert 1 <= model.threads[0] <= embedding.MOST_THREADS


def test_a_hub_id_is_loaded_at_its_commit(model):
    encode_with(f"owner/name@{COMMIT}", PARAM, ["one"])
    assert model.seen.loaded == [("owner/name", COMMIT, "cpu")]


@pytest.mark.parametrize("limit", [None, float("inf")])
def test_an_encoder_without_a_limit_cuts_nothing(model, monkeypatch, limit):
    monkeypatch.setattr(Model, "max_seq_length", limit)
    assert encode_with("a/folder", PARAM, ["one two three four"])[1] == [False]


def test_a_folder_that_holds_no_encoder_is_told_in_a_line(model):
    with pytest.raises(
        UserError, match=r"broken: no sentence encoder .*no config.json in the folder"
    ) as told:
        encode_with("broken", PARAM, ["one"])
    assert "\n" not in str(told.value) and str(told.value).endswith(f"name another in {PARAM}")


def test_no_model_library_is_imported_ahead():
    code = (
        "import sys, shared.embedding; "
        "print(sorted({'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout == "[]\n"


# --- The stage --------------------------------------------------------------------------------------


def test_the_stage_writes_vectors_and_tells_what_was_cut(model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data/embeddings.parquet"
    (tmp_path / "encoder").mkdir()
    write_vectors(path, ["one two three", "one two three four"], "encoder", PARAM)
    assert list(read_vectors(path)) == ["one two three", "one two three four"]
    assert "1 texts are longer than the encoder reads" in capsys.readouterr().out
    write_vectors(path, ["one two three"], "encoder", PARAM)
    assert list(read_vectors(path)) == ["one two three"] and len(model.seen.loaded) == 1
    assert embedding.CACHE.is_file()
    with pytest.raises(UserError, match=rf"no-such-folder: .*{re.escape(PARAM)}"):
        write_vectors(path, ["one"], "no-such-folder", PARAM)


@pytest.mark.live
def test_the_embedded_encoder_tells_meanings_apart():
    texts = ["The summary is short.", "The text is brief.", "Tomatoes need sun.", "word " * 400]
    folder = str(ROOT / ENCODER)
    vectors, cut = encode_with(folder, PARAM, texts)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2
    assert cut == [False, False, False, True]
    # Which texts share a batch moves the last digits alone.
    assert encode_with(folder, PARAM, texts[:1])[0][0] == pytest.approx(vectors[0], abs=1e-5)


@pytest.mark.live
def test_the_embedded_encoder_reads_on_after_128_tokens():
    """Its tokenizer's file asks for 128; the encoder's own limit is 256."""
    start = "The ferry opened in May. " * 25  # 6 tokens a time
    vectors, cut = encode_with(
        str(ROOT / ENCODER), PARAM, [start, start + "Tomatoes need sun and water. " * 10]
    )
    assert cut == [False, False]
    assert vectors[0] @ vectors[1] < 0.99
