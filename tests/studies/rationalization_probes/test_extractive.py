"""The four extractive systems: verbatim sentences, in order, the same everywhere, offline."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from studies.rationalization_probes.extractive import SYSTEMS, Tokenizer, summarise

ROOT = Path(__file__).parents[3]

TEXT = (
    "The ferry opened in May. It carries nine hundred people a day.\n\nFARES STAYED THE SAME. The board "
    "plans a second pier, since the ferry is full in May. Storms closed the ferry twice.\n\nRiders asked "
    "the board for evening boats. Dr. Voss of the board said that it had no crew for evening boats."
)


def test_sumbasic_by_hand():
    # Content words: cats 2, chase, mice, sleep, rain, fell 1 each, 7 in all.
    # Mean probability: (2+1+1)/3/7 = 0.190, (2+1)/2/7 = 0.214, (1+1)/2/7 = 0.143: the second is taken.
    # Squaring what it used (cats 4/49, sleep 1/49) leaves the first at (4/49+1/7+1/7)/3 = 0.122 < 0.143.
    text = "Cats chase mice. Cats sleep. Rain fell."
    assert summarise(text, 1)["sumbasic"] == "Cats sleep."
    assert summarise(text, 2)["sumbasic"] == "Cats sleep. Rain fell."


def test_textrank_by_hand():
    # The first sentence shares a word with each of the others, which share none: it is the hub.
    text = "Cats chase mice nightly. Cats sleep indoors. Hungry mice eat grain. Nightly rain fell."
    assert summarise(text, 1)["textrank"] == "Cats chase mice nightly."


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_extracts_are_n_sentences_of_the_text_in_its_order(n):
    sentences = Tokenizer.to_sentences(TEXT)
    for system, extract in summarise(TEXT, n).items():
        chosen = [sentence for sentence in sentences if sentence in extract]
        assert extract == " ".join(chosen), system
        assert len(chosen) == n, system


def test_sentences_keep_capitals_and_abbreviations_and_never_span_paragraphs():
    sentences = Tokenizer.to_sentences(TEXT)
    assert len(sentences) == 7
    assert "FARES STAYED THE SAME." in sentences
    assert sentences[-1].startswith("Dr. Voss of the board said")
    assert Tokenizer.to_sentences("A title\n\nA line\nbroken in two.") == ("A title", "A line broken in two.")


def test_words_are_words_in_any_alphabet_and_numbers_are_none():
    assert Tokenizer.to_words("In 1974 Zoë's well-known Größe: 3,5 km!") == (
        "in",
        "zoë's",
        "well-known",
        "größe",
        "km",
    )


def test_a_text_no_longer_than_the_extract_is_its_own_extract():
    assert summarise("One line here.\n\n* * *\n\nTwo lines here.", 3) == dict.fromkeys(
        SYSTEMS, "One line here. Two lines here."
    )


def test_a_sentence_of_stop_words_alone_does_no_harm():
    # A known fault of sumy: words that all fall away leave a sentence empty.
    extracts = summarise("It was. The pier burned down. He had been there. A storm closed the pier.", 2)
    assert all(extracts.values())


@pytest.mark.parametrize(("text", "n"), [("", 3), ("12 34 --", 3), ("Some words.", 0)])
def test_nothing_to_extract_is_an_error(text, n):
    with pytest.raises(ValueError, match="extractive"):
        summarise(text, n)


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_same_in_every_process(hash_seed):
    # sumy sums over sets of words, whose order a process draws for itself.
    code = (
        "import hashlib, json, sys; from studies.rationalization_probes.extractive import summarise;"
        "print(hashlib.sha256(json.dumps(summarise(sys.stdin.read(), 3)).encode()).hexdigest())"
    )
    here = hashlib.sha256(json.dumps(summarise(TEXT, 3)).encode()).hexdigest()
    other = subprocess.run(
        [sys.executable, "-c", code],
        input=TEXT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert other.stdout.strip() == here


def test_nothing_is_downloaded(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("a summariser opened a connection")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    assert set(summarise(TEXT, 2)) == set(SYSTEMS)
