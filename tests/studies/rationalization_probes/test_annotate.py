"""The annotators' terminal, without a terminal; agreement by hand and against scikit-learn."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from shared.errors import UserError
from shared.metrics.resampling import Inference
from studies.rationalization_probes import annotate
from studies.rationalization_probes.annotate import (
    agreement,
    arguments,
    collect,
    drawn_pairs,
    kappa,
    read_annotators,
    read_answers,
    report,
)
from studies.rationalization_probes.rows import COLUMNS
from tests.studies.rationalization_probes.support import item, items

QUICK = Inference(resamples=200, permutations=200)


def pairs_of(n: int, pairs: int = 100) -> list[annotate.Pair]:
    made = [item(f"doc-{i}:equal") | {"candidate_1": f"one {i}", "candidate_2": f"two {i}"} for i in range(n)]
    return drawn_pairs(items(*made, item("doc-0:identical", "identical")), pairs, seed=1)


class Terminal:
    """Types these replies one after the other, then presses Ctrl-D; keeps all that is shown."""

    def __init__(self, *replies: str | type[BaseException]) -> None:
        self.replies = list(replies)
        self.shown: list[str] = []

    def ask(self, prompt: str) -> str:
        reply = self.replies.pop(0) if self.replies else EOFError
        if isinstance(reply, str):
            return reply
        raise reply

    def show(self, text: str) -> None:
        self.shown.append(text)

    @property
    def text(self) -> str:
        return "\n".join(self.shown)


def answered(file) -> list[dict[str, str]]:
    return read_answers(file)[0]


def verdicts(file) -> list[str]:
    return [answer["verdict"] for answer in answered(file)]


# --- What is asked ------------------------------------------------------------------------------------


def test_pairs_are_of_equal_content_and_drawn_by_name():
    pairs = pairs_of(30)
    assert len(pairs) == 30 and {pair.item.split(":")[1] for pair in pairs} == {"equal"}
    assert [pair.item for pair in pairs] != sorted(pair.item for pair in pairs)
    assert {pair.screen_order for pair in pairs} == {"12", "21"}
    assert pairs_of(30, 5) == pairs[:5]
    # Adding a document moves no other: the common ones keep their order and what stands first.
    assert [pair for pair in pairs_of(31) if pair.item != "doc-30:equal"] == pairs
    for pair in pairs:
        number = pair.item[4:].split(":")[0]
        expected = (f"one {number}", f"two {number}")
        assert (pair.first, pair.second) == (expected if pair.screen_order == "12" else expected[::-1])


def test_without_pairs_it_says_what_lacks():
    with pytest.raises(UserError, match="two paraphrases"):
        drawn_pairs(items(item("doc:identical", "identical")), 10, seed=1)


def test_nothing_on_the_screen_names_identity_or_label(tmp_path):
    terminal = Terminal("1")
    collect(pairs_of(1), tmp_path / "ann.jsonl", terminal.ask, terminal.show)
    page = terminal.shown[0]
    assert "ferry" in page and "one 0" in page and "two 0" in page
    assert not any(word in page for word in ("LLM", "TradML", "Expert", "candidate", "equal", "doc-0"))


# --- Answers ------------------------------------------------------------------------------------------


def test_answers_are_identities(tmp_path):
    pairs, file = pairs_of(3), tmp_path / "ann.jsonl"
    terminal = Terminal("1", " 2 ", "T")
    collect(pairs, file, terminal.ask, terminal.show)
    # "1" is what stands first: identity 1 on a screen "12", identity 2 on "21".
    assert verdicts(file) == [pairs[0].screen_order[0], pairs[1].screen_order[1], "tie"]
    assert "3 of 3 pairs judged" in terminal.text and "run again" not in terminal.text


def test_swapping_what_stands_first_swaps_the_identity(tmp_path):
    (pair,) = pairs_of(1)
    other = pair._replace(first=pair.second, second=pair.first, screen_order=pair.screen_order[::-1])
    for name, shown in (("a", pair), ("b", other)):
        terminal = Terminal("1")
        collect([shown], tmp_path / f"{name}.jsonl", terminal.ask, terminal.show)
    assert sorted(verdicts(tmp_path / "a.jsonl") + verdicts(tmp_path / "b.jsonl")) == ["1", "2"]


@pytest.mark.parametrize("end", ["q", EOFError, KeyboardInterrupt])
def test_it_ends_politely_and_goes_on_with_what_is_missing(tmp_path, end):
    pairs, file = pairs_of(4), tmp_path / "ann.jsonl"
    terminal = Terminal("t", "s", "t", end)
    collect(pairs, file, terminal.ask, terminal.show)
    assert "2 of 4 pairs judged; run again to go on" in terminal.text
    again = Terminal("1", "1")
    collect(pairs, file, again.ask, again.show)
    assert [answer["item"] for answer in answered(file)] == [pairs[i].item for i in (0, 2, 1, 3)]
    assert "Pair 2 of 4" in again.shown[0] and "Pair 4 of 4" in again.shown[1]
    assert not again.replies


def test_what_cannot_be_understood_is_asked_again(tmp_path):
    terminal = Terminal("3", "", "two", "tie")
    collect(pairs_of(1), tmp_path / "ann.jsonl", terminal.ask, terminal.show)
    assert verdicts(tmp_path / "ann.jsonl") == ["tie"]
    assert terminal.shown.count("please type 1, 2, t, s or q") == 3


def test_each_answer_is_on_disk_before_the_next_pair(tmp_path):
    file, seen = tmp_path / "deep" / "ann.jsonl", []

    def ask(_: str) -> str:
        seen.append(len(answered(file)))
        return "t"

    collect(pairs_of(3), file, ask, lambda _: None)
    assert seen == [0, 1, 2]


def test_changed_texts_are_asked_again(tmp_path):
    (pair,), file = pairs_of(1), tmp_path / "ann.jsonl"
    for shown in (pair, pair._replace(first="another text")):
        collect([shown], file, lambda _: "t", lambda _: None)
    assert len(answered(file)) == 2


@pytest.mark.parametrize("cut", [b'{"item": "doc-1', b"\x00\x00\x00\n", b'{"item": 1}\n'])
def test_a_damaged_last_line_is_asked_again(tmp_path, cut):
    pairs, file = pairs_of(2), tmp_path / "ann.jsonl"
    collect(pairs, file, Terminal("t").ask, lambda _: None)
    whole = file.read_bytes()
    file.write_bytes(whole + cut)
    terminal = Terminal("t")
    collect(pairs, file, terminal.ask, terminal.show)
    assert "last line" in terminal.shown[0] and "damaged" in terminal.shown[0]
    assert file.read_bytes().startswith(whole) and verdicts(file) == ["tie", "tie"]


def test_damage_elsewhere_is_an_error_that_names_the_line(tmp_path):
    file = tmp_path / "ann.jsonl"
    collect(pairs_of(1), file, Terminal("t").ask, lambda _: None)
    whole = file.read_bytes()
    file.write_bytes(b"{}\n" + whole)
    with pytest.raises(UserError, match=r"ann\.jsonl:1: not an answer"):
        collect(pairs_of(1), file, Terminal().ask, lambda _: None)
    assert file.read_bytes() == b"{}\n" + whole


# --- Agreement ----------------------------------------------------------------------------------------


def answers(**said: str) -> pd.DataFrame:
    """Verdicts by annotator, one letter a pair."""
    words = {"1": "1", "2": "2", "t": "tie"}
    return pd.DataFrame(
        [
            {
                "annotator": name,
                "item": f"d{i}:equal",
                "cluster": f"d{i}",
                "digest": "x",
                "verdict": words[one],
            }
            for name, letters in said.items()
            for i, one in enumerate(letters)
        ]
    )


def row(found: pd.DataFrame, quantity: str, judge: str) -> pd.Series:
    (at,) = found.index[(found["quantity"] == quantity) & (found["judge"] == judge)]
    return found.loc[at]


def found_of(**said: str) -> pd.DataFrame:
    return agreement(answers(**said), np.random.default_rng(5), QUICK)


def test_agreement_by_hand():
    found = found_of(b="tttt12t1", a="tttt1112")
    assert list(found.columns) == list(COLUMNS)
    assert row(found, "tie_rate", "a")["value"] == 4 / 8 and row(found, "tie_rate", "b")["count"] == 5
    agreed = row(found, "agreement", "a, b")
    assert (agreed["value"], agreed["count"], agreed["n_trials"]) == (5 / 8, 5, 8)
    # a: 3 ones, 1 two, 4 ties; b: 2, 1, 5. By chance (3*2 + 1*1 + 4*5) / 64 = 27/64; (40 - 27) / (64 - 27).
    beyond = row(found, "kappa", "a, b")
    assert beyond["value"] == pytest.approx(13 / 37)
    assert beyond["ci_low"] < 13 / 37 < beyond["ci_high"]


def test_only_what_both_judged_counts():
    found = found_of(a="tt11", b="tt")
    assert row(found, "agreement", "a, b")["n_trials"] == 2
    assert row(found, "tie_rate", "a")["n_trials"] == 4
    changed = answers(a="t", b="t").assign(digest=["x", "y"])  # they read different texts
    found = agreement(changed, np.random.default_rng(5), QUICK)
    assert np.isnan(row(found, "agreement", "a, b")["value"]) and np.isnan(
        row(found, "kappa", "a, b")["value"]
    )


def test_every_two_annotators_are_compared():
    found = found_of(a="t1", b="t2", c="11")
    assert found.loc[found["quantity"] == "kappa", "judge"].tolist() == ["a, b", "a, c", "b, c"]


def test_kappa_is_sklearns():
    rng = np.random.default_rng(11)
    for _ in range(20):
        one, other = rng.integers(0, 3, size=(2, 12))
        counts = np.bincount(one * 3 + other, minlength=9).astype(float)
        assert kappa(counts) == pytest.approx(cohen_kappa_score(one, other))
        swapped = np.bincount(other * 3 + one, minlength=9).astype(float)
        assert kappa(swapped) == pytest.approx(kappa(counts))


def test_kappa_at_its_limits():
    assert kappa(np.array([4.0, 0, 0, 0, 4, 0, 0, 0, 0])) == 1
    assert kappa(np.array([0.0, 4, 0, 4, 0, 0, 0, 0, 0])) == -1
    one_class = np.zeros(9)
    one_class[8] = 10
    assert np.isnan(kappa(one_class)) and np.isnan(kappa(np.zeros(9)))
    assert kappa(np.stack([one_class, np.arange(9.0)])).shape == (2,)


def test_the_report_stands_beside_the_papers():
    text = report(found_of(a="tttttttt", b="tttttttt"), QUICK)
    assert "a: tie on 8 of 8: 1.000 [" in text
    assert "a, b: Cohen's kappa n/a" in text
    assert text.endswith("the paper's two annotators: tie on 94 and 92 of 100")
    assert text.count("too few to conclude") == 4  # 8 clusters
    assert "too few" not in report(found_of(a="t" * 12, b="t1" * 6), QUICK)


def test_reading_annotators(tmp_path):
    def show(text: str) -> None:
        shown.append(text)

    shown: list[str] = []
    with pytest.raises(UserError, match="needs two annotators, there are 0"):
        read_annotators(tmp_path, show)
    for name in ("ann", "bob"):
        collect(pairs_of(3), tmp_path / f"{name}.jsonl", lambda _: "t", lambda _: None)
    with (tmp_path / "bob.jsonl").open("ab") as file:
        file.write(b'{"item"')
    before = (tmp_path / "bob.jsonl").read_bytes()
    found = read_annotators(tmp_path, show)
    assert found.groupby("annotator").size().to_dict() == {"ann": 3, "bob": 3}
    assert len(shown) == 1 and "bob.jsonl is damaged" in shown[0]
    assert (tmp_path / "bob.jsonl").read_bytes() == before  # comparing changes no file


# --- The command --------------------------------------------------------------------------------------


def test_arguments():
    assert arguments(["annotate", "ann"]) == ("ann", 100)
    assert arguments(["annotate", "ann_2", "7"]) == ("ann_2", 7)


@pytest.mark.parametrize(
    "argv", [[], ["Ann"], ["../ann"], ["agreement", "5"], ["ann", "0"], ["ann", "x"], ["a", "1", "2"]]
)
def test_wrong_arguments_are_named(argv):
    with pytest.raises(UserError, match=r"^[^\n]+$"):
        arguments(["annotate", *argv])


def test_the_whole_way(tmp_path, monkeypatch, capsys, root):
    items_file = tmp_path / "items.parquet"
    items(*(item(f"doc-{i}:equal") for i in range(2))).to_parquet(items_file)
    monkeypatch.chdir(root)
    monkeypatch.setattr(annotate, "ITEMS", items_file)
    monkeypatch.setattr(annotate, "ANNOTATIONS", tmp_path)
    monkeypatch.setattr("builtins.input", lambda _: "t")
    for name in ("ann", "bob"):
        monkeypatch.setattr("sys.argv", ["annotate", name, "5"])
        annotate.main()
    assert "5 pairs asked for; there are 2" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["annotate", "agreement"])
    annotate.main()
    assert "ann, bob: agree on 2 of 2" in capsys.readouterr().out
    assert json.loads((tmp_path / "ann.jsonl").read_text().splitlines()[0])["verdict"] == "tie"
