from __future__ import annotations

import subprocess
import sys

import pytest

from shared.params import PARAMS, ParamsError, read
from studies.check import check, sections


def test_every_study_with_params_is_found(root):
    folders = {file.parent.name for file in (root / "studies").glob("*/params.py")}
    assert folders
    assert {name for name, _ in sections()} == folders


def test_the_committed_params_pass(root):
    check(read(root / PARAMS))


def test_an_unknown_section_is_named(root):
    document = read(root / PARAMS)
    document["rationalisation_probes"] = document.pop("rationalization_probes")
    with pytest.raises(
        ParamsError, match=r"rationalisation_probes: unknown section; did you mean 'rationalization_probes'\?"
    ):
        check(document)


def test_a_profile_that_is_not_there_is_named(root):
    document = read(root / PARAMS) | {"profile": "defualt"}
    with pytest.raises(ParamsError) as caught:
        check(document, folder=root / "profiles")
    assert str(caught.value) == "params.yaml: profile: no profile 'defualt'; did you mean 'default'?"


def test_a_mistake_in_a_studys_section_is_found(root):
    document = read(root / PARAMS)
    document["rationalization_probes"]["tie_margin"] = -1
    with pytest.raises(ParamsError, match=r"rationalization_probes\.tie_margin"):
        check(document)


def test_the_command_says_one_line_and_exits_with_1(root, tmp_path):
    bad = tmp_path / "params.yaml"
    bad.write_text((root / PARAMS).read_text().replace("seed:", "sede:"))
    run = subprocess.run(
        [sys.executable, "-m", "studies.check", bad], capture_output=True, text=True, cwd=root
    )
    assert run.returncode == 1
    assert run.stderr == "error: params.yaml: sede: unknown section; did you mean 'seed'?\n"


def test_checking_loads_no_model_library(root):
    heavy = "{'torch', 'transformers', 'datasets', 'pandas'}"
    code = f"import sys, studies.check; studies.check.main(); print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, check=True)
    assert run.stdout == "[]\n"
