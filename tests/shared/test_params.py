from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

from shared import params
from shared.params import (
    Common,
    Distinct,
    EndpointJudge,
    JudgeSlug,
    LlamaCppJudge,
    ParamsError,
    Strict,
    did_you_mean,
    keys,
    load,
    parse_common,
    read,
)

COMMON = """\
profile: default
seed: 1
store: .cache/responses.sqlite
judges:
  small: {engine: llamacpp, model: weights/small.gguf}
  served: {engine: endpoint, base_url: "http://127.0.0.1:8000/v1", model: served-model}
data: {external_dir: data/external}
statistics: {confidence: 0.95, resamples: 2000, permutations: 10000, few_clusters: 12}
"""


class Sets(Strict):
    probes: Distinct[str]


class Study(Strict):
    judges: list[JudgeSlug]
    sets: Sets
    share: float = Field(ge=0)


STUDY = "study: {judges: [small], sets: {probes: [blind]}, share: 1}\n"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "params.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def message(path: Path) -> str:
    """What loading says of a file that it refuses; one line, always."""
    with pytest.raises(ParamsError) as caught:
        load("study", Study, path)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_load_gives_the_common_part_and_the_section(write):
    common, study = load("study", Study, write(COMMON + STUDY))
    assert common.seed == 1
    assert common.store == Path(".cache/responses.sqlite")
    assert study.sets.probes == ["blind"]


def test_a_judge_is_read_by_its_engine_with_that_engines_defaults(write):
    common, _ = load("study", Study, write(COMMON + STUDY))
    small, served = common.judges["small"], common.judges["served"]
    assert isinstance(small, LlamaCppJudge)
    assert (small.context, small.prefix_cache, small.structured) == (4096, "exact", True)
    assert isinstance(served, EndpointJudge)
    assert (served.context, served.api_key_env) == (None, None)


def test_the_sections_of_other_studies_are_left_alone(write):
    load("study", Study, write(COMMON + STUDY + "other_study: {anything: [goes]}\n"))


def test_params_do_not_change_once_read(write):
    common, _ = load("study", Study, write(COMMON + STUDY))
    with pytest.raises(Exception, match="frozen"):
        common.seed = 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        # misspelt keys: the nearest known one is offered, and the mistake is told once
        ("probes:", "probs:", "study.sets.probs: unknown key; did you mean 'probes'?"),
        ("share: 1", "shares: 1", "study.shares: unknown key; did you mean 'share'?"),
        ("model: weights", "modle: weights", "judges.small.modle: unknown key; did you mean 'model'?"),
        ("resamples:", "resample:", "statistics.resample: unknown key; did you mean 'resamples'?"),
        # a key of another engine is unknown here; nothing is near, so all are listed
        ("engine: llamacpp", "engine: llamacpp, qqq: x", "judges.small.qqq: unknown key; use one of: model"),
        # misspelt values
        (
            "judges: [small]",
            "judges: [smal]",
            "study.judges.0: no judge 'smal' under judges:; did you mean 'small'?",
        ),
        (
            "engine: llamacpp",
            "engine: lamacpp",
            "judges.small.engine: unknown engine 'lamacpp'; did you mean 'llamacpp'?",
        ),
        (
            "engine: llamacpp",
            "engine: llamacpp, prefix_cache: exat",
            "judges.small.prefix_cache: unknown value 'exat'; did you mean 'exact'?",
        ),
        # missing ones
        ("seed: 1\n", "", "seed: missing; add it"),
        (", share: 1", "", "study.share: missing; add it"),
        ("engine: llamacpp, ", "", "judges.small.engine: missing; use one of: llamacpp, endpoint"),
        # wrong types: nothing is converted silently
        ("seed: 1", "seed: '1'", "seed: should be a valid integer, not '1'"),
        ("seed: 1", "seed: 1.5", "seed: should be a valid integer, not 1.5"),
        ("seed: 1", "seed: true", "seed: should be a valid integer, not True"),
        ("seed: 1", "seed: null", "seed: should be a valid integer, not null"),
        ("share: 1", "share: some", "study.share: should be a valid number, not 'some'"),
        ("probes: [blind]", "probes: blind", "study.sets.probes: should be a valid list, not 'blind'"),
        (
            "sets: {probes: [blind]}",
            "sets: 3",
            "study.sets: should be a valid dictionary or instance of Sets, not 3",
        ),
        ("store: .cache/responses.sqlite", "store: 3", "store: should be a path, not 3"),
        # YAML 1.2: `yes` is a string, as DVC reads it too
        (
            "engine: llamacpp",
            "engine: llamacpp, structured: yes",
            "judges.small.structured: should be a valid boolean",
        ),
        # impossible values
        ("share: 1", "share: -1", "study.share: should be greater than or equal to 0, not -1"),
        ("share: 1", "share: .nan", "study.share: should be a finite number, not nan"),
        ("confidence: 0.95", "confidence: 95", "statistics.confidence: should be less than 1, not 95"),
        ("probes: [blind]", "probes: []", "study.sets.probes: list should have at least 1 item"),
        ("probes: [blind]", "probes: [blind, blind]", "study.sets.probes: 'blind' stands twice; remove one"),
        ("  small:", "  Small-1.0:", "judges.Small-1.0: a judge's slug names files and stages"),
        ("  small:", "  '12':", "judges.12: a judge's slug names files and stages"),
        ("  small:", '  "sma\\nll":', "judges.sma ll: a judge's slug names files and stages"),
        ("  small:", "  _small:", "judges._small: a judge's slug names files and stages"),
        # what YAML itself cannot read
        ("seed: 1", f"seed: {'9' * 5000}", "holds a value that can't be read"),
        ("seed: 1", f"seed: {'[' * 3000}{']' * 3000}", "nested too deep to be read"),
        ("seed: 1", "seed: 2024-13-45", "holds a value that can't be read"),
        # engines that are still to come
        (
            "engine: llamacpp",
            "engine: vllm",
            "judges.small.engine: vllm is not available yet; use llamacpp or endpoint",
        ),
        (
            "engine: llamacpp",
            "engine: ray",
            "judges.small.engine: ray is not available yet; use llamacpp or endpoint",
        ),
    ],
)
def test_a_mistake_is_one_line_with_the_full_key_and_the_fix(write, old, new, said):
    good = COMMON + STUDY
    assert good.count(old) >= 1
    assert message(write(good.replace(old, new, 1))).startswith(f"params.yaml: {said}")


def test_several_mistakes_are_counted(write):
    text = (COMMON + STUDY).replace("confidence: 0.95", "confidence: 2").replace("seed: 1", "seed: x")
    assert message(write(text)) == "params.yaml: seed: should be a valid integer, not 'x' (and 1 more)"


def test_a_long_value_is_cut(write):
    text = (COMMON + STUDY).replace("seed: 1", f"seed: {'x' * 500}")
    assert len(message(write(text))) < 150


def test_braces_in_a_value_are_printed_as_they_are(write):
    text = (COMMON + STUDY).replace("judges: [small]", "judges: ['{x}']")
    assert "no judge '{x}'" in message(write(text))


def test_a_missing_section_is_named(write):
    assert message(write(COMMON)).startswith("params.yaml: study: missing")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "params.yaml: holds no keys"),
        ("- a\n- b\n", "params.yaml: holds no keys"),
        ("a: 1\nb: [1, 2\n", "params.yaml: line 3: "),
        ("seed: 1\nprofile: x\nseed: 2\n", "params.yaml: line 3: found duplicate key"),
    ],
)
def test_what_is_not_a_mapping_in_yaml_is_one_line(write, text, said):
    assert message(write(text)).startswith(said)


def test_a_file_that_is_not_utf8_is_one_line(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_bytes(b"profile: \xff\n")
    # "profile: " is nine bytes, so the bad one is at offset 9.
    assert message(path) == "params.yaml: not UTF-8 at byte 9; save it as UTF-8"


def test_an_absent_file_is_one_line(tmp_path):
    assert "not found; run from the repository's root" in message(tmp_path / "params.yaml")


@pytest.mark.parametrize(
    ("url", "accepted"),
    [
        ("http://127.0.0.1:8000/v1", True),
        ("https://api.example.org/v1/me@here", True),  # an @ in the path is no user
        ("https://user:secret@example.org/v1", False),
        ("example.org/v1", False),
        ("http://[::1]:8000/v1", True),
        ("http://[::1/v1", False),
        ("http://127.0.0.1:99999/v1", False),
        ("http://127.0.0.1:abc/v1", False),
        ("http://:8000/v1", False),
        ("http://example.org/v1?key=secret", False),
    ],
)
def test_an_endpoints_address_holds_no_secret(write, url, accepted):
    text = COMMON.replace("http://127.0.0.1:8000/v1", url) + STUDY
    if accepted:
        load("study", Study, write(text))
    else:
        assert message(write(text)).startswith("params.yaml: judges.served.base_url: ")


def test_a_key_in_a_header_is_refused_without_being_shown(write):
    text = (
        COMMON.replace("model: served-model", "model: m, extra_headers: {Authorization: Bearer canary}")
        + STUDY
    )
    said = message(write(text))
    assert said.startswith("params.yaml: judges.served.extra_headers.Authorization: ")
    assert "canary" not in said


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("base_url: ", "api_key_env: sk-canary, base_url: "),  # the key in place of its variable's name
        ("base_url: ", "extra_headers: {X-Key: [canary]}, base_url: "),
        ("base_url: ", "extra_headers: canary, base_url: "),
        ('base_url: "http://127.0.0.1:8000/v1"', "base_url: [canary]"),
        ("base_url: ", 'base_url: "http://canary/v1", base_url: '),  # twice: YAML's error
    ],
)
def test_a_value_that_may_be_a_secret_is_never_shown(write, old, new):
    assert old in COMMON
    assert "canary" not in message(write(COMMON.replace(old, new) + STUDY))


@pytest.mark.parametrize(
    "url",
    [
        "https://canary@example.org/v1",
        "canary@example.org/v1",
        "canary",
        "http://user:canary@[::1/v1",
        "http://user:canary@exa\u2100mple.org/v1",  # a host that urlsplit refuses with all of it in its words
        "http://example.org/v1?key=canary",
    ],
)
def test_what_is_wrong_with_an_address_is_said_without_it(write, url):
    text = COMMON.replace("http://127.0.0.1:8000/v1", url) + STUDY
    assert "canary" not in message(write(text))


def test_a_section_validated_alone_knows_no_judges_to_compare_with():
    assert Study.model_validate({"judges": ["any"], "sets": {"probes": ["blind"]}, "share": 0}).judges == [
        "any"
    ]


def test_keys_refuses_unknown_and_missing_ones():
    check = keys(("a", "bee"), required=("a",)).func
    assert check({"a": 1}) == {"a": 1}
    with pytest.raises(Exception, match="did you mean 'bee'"):
        check({"a": 1, "be": 2})
    with pytest.raises(Exception, match="missing; add it"):
        check({"bee": 1})


def test_did_you_mean_lists_all_where_nothing_is_near():
    assert did_you_mean("zzz", ["blind", "truth"]) == "use one of: blind, truth"
    assert did_you_mean("zzz", []) == "use one of: (none)"


def test_the_committed_params_are_valid(root):
    common = parse_common(read(root / params.PARAMS))
    assert isinstance(common, Common)


class Sizes(Strict):
    sizes: list[Literal[2, 3, 5, 9]]


def test_numbers_that_a_key_allows_are_told(write):
    with pytest.raises(ParamsError, match=r"unknown value 4; use one of: 2, 3, 5, 9"):
        load("study", Sizes, write(COMMON + "study: {sizes: [2, 4]}\n"))
