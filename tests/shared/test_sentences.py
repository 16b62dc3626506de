"""Sentences by rules: what ends one, and what is given back."""

import subprocess
import sys
from pathlib import Path

import pytest

from shared.sentences import segment

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        ("", []),
        ("One. Two? Three!", ["One.", "Two?", "Three!"]),
        ("Dr. Voss paid 3.50, i.e. a lot. She left.", ["Dr. Voss paid 3.50, i.e. a lot.", "She left."]),
        ("no capital and no stop", ["no capital and no stop"]),
    ],
)  # fmt: skip
def test_what_ends_a_sentence(paragraph, expected):
    assert [sentence.strip() for sentence in segment(paragraph)] == expected


def test_nothing_of_an_ordinary_text_is_lost():
    paragraph = 'He said: "Go." Then (at 5 p.m.) he went... It cost $4.20! Why? See example.com.'
    assert "".join(segment(paragraph)) == paragraph


def test_the_library_is_imported_when_it_is_needed():
    code = "import sys, shared.sentences; print('pysbd' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout == "False\n"
