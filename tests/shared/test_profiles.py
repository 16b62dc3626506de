from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from shared import profiles
from shared.params import PARAMS, read
from shared.profiles import ProfileError, active, apply, edit, wanted
from studies.check import check

NAMES = ("default", "smoke", "medium", "full", "paper")
ENGINES_EXIST = ("default", "smoke", "medium", "full")


@pytest.fixture
def text(root) -> str:
    """params.yaml at the default profile, whatever profile the working tree is at."""
    committed = (root / PARAMS).read_text(encoding="utf-8")
    return edit(committed, wanted("default", root / "profiles"))[0]


@pytest.fixture
def folder(root) -> Path:
    return root / "profiles"


@pytest.fixture
def small(tmp_path) -> Path:
    """A folder with a params.yaml and profiles of its own."""
    (tmp_path / "profiles").mkdir()
    (tmp_path / "params.yaml").write_text(
        "profile: default\nrun: {}\nstudy:\n  items: 2 # how many\n  probes: [a]\n"
    )
    (tmp_path / "profiles/default.yaml").write_text("study:\n  items: 2\n  probes: [a]\n")
    (tmp_path / "profiles/smoke.yaml").write_text("study:\n  items: 1\n")
    return tmp_path


def lay(small: Path, overlay: str) -> str:
    """The text after an overlay called mine."""
    (small / "profiles/mine.yaml").write_text(overlay)
    return edit((small / "params.yaml").read_text(), wanted("mine", small / "profiles"))[0]


def test_all_profiles_are_there(folder):
    assert {file.stem for file in folder.glob("*.yaml")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_default_covers_every_key_that_a_profile_touches(folder, name):
    # wanted() refuses a key that default.yaml lacks; equal key sets say that nothing is left over either.
    assert wanted(name, folder).keys() == wanted("default", folder).keys()


def test_default_holds_no_key_that_no_profile_touches(folder):
    default = wanted("default", folder)
    touched = {key for name in NAMES for key, value in wanted(name, folder).items() if value != default[key]}
    assert touched == default.keys()


def test_default_agrees_with_params(root, folder):
    committed = (root / PARAMS).read_text(encoding="utf-8")
    name = read(root / PARAMS)["profile"]
    # The committed params are those of some profile, unedited.
    assert edit(committed, wanted(name, folder)) == (committed, [])


@pytest.mark.parametrize("name", NAMES)
def test_default_undoes_every_profile_to_the_byte(text, folder, name):
    there = edit(text, wanted(name, folder))[0]
    assert edit(there, wanted("default", folder))[0] == text


@pytest.mark.parametrize("name", NAMES)
def test_applying_twice_changes_nothing(text, folder, name):
    there = edit(text, wanted(name, folder))[0]
    assert edit(there, wanted(name, folder)) == (there, [])


@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("second", NAMES)
def test_what_an_earlier_profile_set_does_not_linger(text, folder, first, second):
    after_first = edit(text, wanted(first, folder))[0]
    assert edit(after_first, wanted(second, folder))[0] == edit(text, wanted(second, folder))[0]


@pytest.mark.parametrize("name", NAMES)
def test_every_comment_is_kept(text, folder, name):
    def comments(of: str) -> list[str]:
        return [line.split("#", 1)[1] for line in of.splitlines() if "#" in line]

    assert comments(edit(text, wanted(name, folder))[0]) == comments(text)


@pytest.mark.parametrize("name", ENGINES_EXIST)
def test_a_profile_makes_valid_params(text, folder, name):
    check(YAML(typ="safe", pure=True).load(edit(text, wanted(name, folder))[0]))


def test_paper_brings_the_papers_judges_and_default_removes_them(text, folder):
    def judges(of: str) -> set[str]:
        return set(YAML(typ="safe", pure=True).load(of)["judges"])

    there = edit(text, wanted("paper", folder))[0]
    five = {"gemma_2_9b", "llama_3_1_8b", "mistral_7b", "qwen2_5_7b", "zephyr_7b"}
    six = {"gpt_oss_20b", "gpt_oss_120b", "qwen3_5_9b", "qwen3_5_27b", "gemma_3_12b", "gemma_3_27b"}
    hosted = {"claude_sonnet_4_5", "gpt_5"}
    assert judges(there) - judges(text) == five | six | hosted
    assert judges(edit(there, wanted("default", folder))[0]) == judges(text)


def test_a_judge_added_by_hand_stays(text, folder):
    mine = text.replace("judges:\n", "judges:\n  mine: {engine: llamacpp, model: m.gguf}\n", 1)
    there = edit(mine, wanted("smoke", folder))[0]
    assert "  mine: {engine: llamacpp, model: m.gguf}\n" in there


def test_changes_are_told_key_by_key(small):
    text, done = edit((small / "params.yaml").read_text(), wanted("smoke", small / "profiles"))
    assert [str(change) for change in done] == ["profile: default -> smoke", "study.items: 2 -> 1"]
    assert text == "profile: smoke\nrun: {}\nstudy:\n  items: 1 # how many\n  probes: [a]\n"


def test_lists_stay_in_one_line_and_null_is_written(small):
    there = lay(small, "study: {items: null, probes: [b, c]}\n")
    assert "  items: null # how many\n" in there
    assert "  probes: [b, c]\n" in there


def test_a_misspelt_profile_lists_what_there_is(small):
    with pytest.raises(ProfileError, match=r"no profile 'smok'; did you mean 'smoke'\?"):
        wanted("smok", small / "profiles")
    with pytest.raises(ProfileError, match="no profile 'zzz'; use one of: default, smoke"):
        wanted("zzz", small / "profiles")


def test_a_profile_name_is_no_path(small):
    with pytest.raises(ProfileError, match="no profile"):
        wanted("../profiles/smoke", small / "profiles")


def test_a_key_that_default_lacks_is_one_line(small):
    with pytest.raises(
        ProfileError, match=r"mine\.yaml: study\.itms: not in default\.yaml; did you mean 'items'\?"
    ):
        lay(small, "study: {itms: 1}\n")


def test_a_value_where_keys_belong_is_one_line(small):
    with pytest.raises(ProfileError, match=r"mine\.yaml: study: 3 stands where keys belong"):
        lay(small, "study: 3\n")


def test_a_key_that_params_lack_is_one_line(small):
    (small / "params.yaml").write_text("profile: default\nstudy:\n  itms: 2\n  probes: [a]\n")
    with pytest.raises(ProfileError, match=r"params\.yaml: study\.items: missing, .*did you mean 'itms'\?"):
        edit((small / "params.yaml").read_text(), wanted("smoke", small / "profiles"))


def test_active_names_what_was_changed_by_hand(small):
    path, folder = small / "params.yaml", small / "profiles"
    assert active(path, folder) == "default"
    path.write_text(path.read_text().replace("items: 2", "items: 7"))
    assert active(path, folder) == "default, with changes in study.items"


def test_a_set_that_was_removed_by_hand_stays_removed_and_is_named(copy, folder):
    document = read(copy)
    del document["rationalization_probes"]["sets"]["damage"]
    YAML().dump(document, copy)
    gone = "rationalization_probes.sets.damage (removed by hand)"
    assert active(copy, folder) == f"default, with changes in {gone}"
    apply("smoke", copy, folder)
    assert active(copy, folder) == f"smoke, with changes in {gone}"
    assert "damage" not in read(copy)["rationalization_probes"]["sets"]
    assert read(copy)["rationalization_probes"]["sets"]["equal"]["items"] == 1
    assert apply("default", copy, folder)


def test_main_says_how_a_removed_block_comes_back(small, monkeypatch, capsys):
    path = small / "params.yaml"
    path.write_text("profile: default\nrun: {}\n")
    monkeypatch.chdir(small)
    monkeypatch.setattr("sys.argv", ["profiles", "smoke"])
    monkeypatch.setattr(profiles, "CHECK", ("true",))
    profiles.main()
    assert capsys.readouterr().out == (
        "profile: default -> smoke\n"
        "study: removed by hand, left so; to have it back: git checkout params.yaml\n"
    )


def test_a_block_that_is_misspelt_is_found_by_the_check(copy, folder):
    copy.write_text(copy.read_text().replace("    damage:", "    damge:"))
    with pytest.raises(ProfileError, match=r"sets\.damge\.kind: missing, .*; did you mean 'damage'\?"):
        apply("smoke", copy, folder)


@pytest.fixture
def copy(tmp_path, text, folder, monkeypatch, root) -> Path:
    """A params.yaml of its own at the default profile; the check finds the studies from the root."""
    monkeypatch.chdir(root)
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_apply_writes_the_file(copy, folder):
    done = apply("smoke", copy, folder)
    assert ("profile",) in {change.key for change in done}
    assert read(copy)["profile"] == "smoke"
    assert os.listdir(copy.parent) == ["params.yaml"]


def test_apply_refuses_what_has_no_engine_and_leaves_the_file_alone(copy, folder):
    before = copy.read_bytes()
    with pytest.raises(ProfileError) as caught:
        apply("paper", copy, folder)
    assert str(caught.value).startswith(
        "profile paper is not applied: params.yaml: judges.gemma_2_9b.engine: vllm is not available yet"
    )
    assert "\n" not in str(caught.value)
    assert copy.read_bytes() == before
    assert os.listdir(copy.parent) == ["params.yaml"]


def test_apply_keeps_the_files_mode(copy, folder):
    copy.chmod(0o640)
    apply("smoke", copy, folder)
    assert copy.stat().st_mode & 0o777 == 0o640


def test_apply_says_what_is_wrong_with_a_broken_file(copy, folder):
    copy.write_text("profile: [\n")
    with pytest.raises(Exception, match=r"params\.yaml: line "):
        apply("smoke", copy, folder)


def test_main_prints_the_active_profile(small, monkeypatch, capsys):
    monkeypatch.chdir(small)
    monkeypatch.setattr("sys.argv", ["profiles"])
    profiles.main()
    assert capsys.readouterr().out == "default\n"


def test_a_folder_without_profiles_is_no_crash(small):
    shutil.rmtree(small / "profiles")
    with pytest.raises(ProfileError, match="no profile 'smoke'"):
        wanted("smoke", small / "profiles")
