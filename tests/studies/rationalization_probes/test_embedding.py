"""The embedding stage: what is embedded, and what its params are called."""

import subprocess
import sys

import pandas as pd
import pytest

from shared.errors import UserError
from shared.params import PARAMS, load
from studies.rationalization_probes import embedding
from studies.rationalization_probes.embedding import texts_to_embed
from studies.rationalization_probes.params import Rationales, Section
from tests.studies.rationalization_probes.support import ROOT

FAMILIES = ("label", "placebo", "verbosity", "confidence")


def rationales() -> Rationales:
    def wording(family, n):
        return {"favoured": f"{family} {n}", "opposite": f"not {family} {n}"}

    return Rationales.model_validate(
        {
            "encoder": "weights/all-MiniLM-L6-v2",
            "thresholds": [0.1],
            "descriptors": {family: [wording(family, n) for n in (1, 2)] for family in FAMILIES},
        }
    )


def test_each_text_once_in_order():
    one = pd.DataFrame({"stage": ["first", "first", "reveal"], "rationale": ["b", None, "revealed"]})
    other = pd.DataFrame({"stage": ["first", "first"], "rationale": ["a", "b"]})
    texts = texts_to_embed([one, other], rationales())
    # Two rationales, and two sides of two wordings of four families; the reveal's is compared with nothing.
    assert len(texts) == 2 + 16 and texts[:2] == ["a", "b"]
    assert texts == sorted(texts)
    assert {"label 2", "not confidence 1"} < set(texts)
    assert texts_to_embed([other, one], rationales()) == texts


def test_a_judge_without_rationales_leaves_the_descriptors():
    nothing = pd.DataFrame({"stage": ["first"], "rationale": [None]})
    assert len(texts_to_embed([nothing], rationales())) == 16


def test_the_error_names_the_key_of_params(root, tmp_path, monkeypatch):
    encoder = load("rationalization_probes", Section, root / PARAMS)[1].rationales.encoder
    (tmp_path / PARAMS).write_text((root / PARAMS).read_text())
    judged = pd.DataFrame({"stage": ["first"], "rationale": [None]})
    monkeypatch.setattr(embedding, "read", lambda path, stage: judged)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=f"{encoder}: .*rationalization_probes.rationales.encoder"):
        embedding.main()


def test_the_stage_imports_no_model_library_by_itself():
    code = (
        "import sys, studies.rationalization_probes.embedding; "
        "print(sorted({'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout == "[]\n"
