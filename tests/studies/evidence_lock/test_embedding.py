"""The embedding stage: which sentences are embedded, and what its params are called."""

import subprocess
import sys

import numpy as np
import pytest

from shared.errors import UserError
from shared.params import PARAMS
from studies.evidence_lock import embedding
from studies.evidence_lock.embedding import sentences_to_embed
from studies.evidence_lock.lost import lost_rows
from tests.studies.evidence_lock.lost_facts import Facts, both, items_of, judged, telling
from tests.studies.evidence_lock.test_lost import QUICK, frame, losses


def test_each_sentence_once_in_order():
    items = items_of(3)
    one = frame(both(items.iloc[0], True, True, "Cedar names alpha. It is short.", telling("gamma")))
    other = frame(both(items.iloc[1], True, True, telling("omega"), "It is short."))
    texts = sentences_to_embed([one, other], items)
    # Four facts of the answers, of which the record repeats one; two more of the records, without names.
    assert texts == sorted(
        [
            *(f"It names {fact} here." for fact in ("alpha", "beta", "gamma", "delta", "omega")),
            "It is short.",
            "the answer names alpha.",
        ]
    )
    assert sentences_to_embed([other, one], items) == texts


def test_only_items_with_a_frozen_record_are_embedded():
    items = items_of(2, better=("alpha",), worse=("beta",))
    structured = frame([judged(items.iloc[0], "structured", True, telling("omega"), telling("omega"))])
    assert sentences_to_embed([structured], items) == []
    unread = frame([judged(items.iloc[0], "lock", None)])
    assert sentences_to_embed([unread], items) == []
    assert sentences_to_embed([structured.iloc[:0]], items) == []
    assert sentences_to_embed([], items) == []


def test_every_sentence_that_is_compared_has_a_vector():
    units, items = losses(6, telling("omega"))
    texts = sentences_to_embed([units.drop(columns="judge")], items)
    vectors = {text: Facts()[text] for text in texts}
    assert len(lost_rows(units, items, vectors, 0.5, np.random.default_rng(0), QUICK)) > 0


def test_the_error_names_the_key_of_params(root, tmp_path, monkeypatch):
    (tmp_path / PARAMS).write_text((root / PARAMS).read_text())
    units, items = losses(2, "")
    monkeypatch.setattr(embedding, "read", lambda path, stage: items if stage == "data" else units)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"no such folder.*evidence_lock\.encoder"):
        embedding.main()


def test_the_stage_imports_no_model_library_by_itself(root):
    code = (
        "import sys, studies.evidence_lock.embedding; "
        "print(sorted({'torch', 'transformers', 'sentence_transformers', 'pysbd'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert run.stdout == "[]\n"
