"""The project's own pairs keep what their README promises: counts, balance, and what they say is true."""

import calendar
import json
import math
import re
from collections import Counter
from datetime import datetime, timedelta
from itertools import combinations, pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from shared.judge.hygiene import neutralise
from studies.evidence_lock.design import NAMES

OWN = Path(__file__).parents[3] / "data/embedded/evidence_lock"
PAIRS = [json.loads(line) for line in (OWN / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
STRICT = [pair for pair in PAIRS if pair["label"] != "tie"]
TIES = [pair for pair in PAIRS if pair["label"] == "tie"]
REASONS = {"wrong_fact": 10, "missed_constraint": 10, "unanswered_part": 8}
WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
RIVERS = ("Danube", "Elbe", "Rhine", "Seine")
PRICES = {"museum": 14, "boat": 11, "lunch": 12}  # a person; no plan takes the tram
FIGURE = r"\d|percent|\b(?:half|double|one|two|three|four|five|six|seven|eight|nine|ten|hundred|thousand)\b"


def of(reason):
    return [pair for pair in STRICT if pair["reason"] == reason]


def the_pair(name):
    return next(pair for pair in PAIRS if pair["id"] == name)


def better(pair):
    return pair[f"answer_{pair['label']}"]


def worse(pair):
    return pair["answer_2" if pair["label"] == "1" else "answer_1"]


def texts(pair):
    return [pair["question"], pair["answer_1"], pair["answer_2"]]


def words(text):
    return len(text.split())


def vocabulary(text):
    return set(re.findall(r"\w+", text.lower()))


def sentences(text):
    """Ends of sentences; the full stop of "Ms." and "Mr." ends none, nor does that of a numbered point."""
    return len(re.findall(r"(?<!Ms)(?<!Mr)(?<!\d)[.?!](?=\s|$)", text))


def commas(text):
    return text.count(",")


def negations(text):
    return len(re.findall(r"\b(?:not|no|never)\b", text))


def numbers(text):
    return set(re.findall(r"\d[\d,.:]*\d|\d", text))


def ids(pairs):
    return [pair["id"] for pair in pairs]


# --- counts and balance -----------------------------------------------------------------------------


def test_there_are_28_pairs_with_a_better_answer_and_8_ties():
    assert (len(STRICT), len(TIES)) == (28, 8)
    assert Counter(pair["reason"] for pair in STRICT) == REASONS
    assert all(pair["reason"] == pair["told"] == "" for pair in TIES)


@pytest.mark.parametrize(("reason", "count"), REASONS.items())
def test_position_and_length_are_balanced_in_each_reason(reason, count):
    assert Counter(pair["label"] for pair in of(reason)) == {"1": count // 2, "2": count // 2}
    assert sum(words(better(pair)) > words(worse(pair)) for pair in of(reason)) == count // 2


def test_position_and_length_cross_evenly():
    longer = Counter((pair["label"], words(better(pair)) > words(worse(pair))) for pair in STRICT)
    assert longer == dict.fromkeys([("1", True), ("1", False), ("2", True), ("2", False)], 7)


def test_lengths_are_moderate():
    assert all(40 <= words(answer) <= 90 for pair in PAIRS for answer in texts(pair)[1:])
    apart = [words(better(pair)) - words(worse(pair)) for pair in STRICT]
    assert all(4 <= abs(difference) <= 15 for difference in apart), sorted(apart)
    assert abs(sum(apart)) < len(apart)  # less than a word on the mean
    assert all(abs(words(pair["answer_1"]) - words(pair["answer_2"])) <= 5 for pair in TIES)


@pytest.mark.parametrize(
    "count",
    [words, len, sentences, commas, negations],
)
def test_no_count_finds_the_better_answer(count):
    more = sum(count(better(pair)) > count(worse(pair)) for pair in STRICT)
    fewer = sum(count(better(pair)) < count(worse(pair)) for pair in STRICT)
    # Heads less tails of 28 fair coins have a standard deviation of sqrt(28) = 5.3; two of these are 10.6.
    assert abs(more - fewer) <= 10


# --- texts ------------------------------------------------------------------------------------------


def test_the_file_is_plain_ascii_in_one_layout():
    raw = (OWN / "pairs.jsonl").read_bytes()
    assert raw.isascii()
    assert [json.dumps(pair) for pair in PAIRS] == raw.decode().splitlines()
    keys = ["id", "question", "answer_1", "answer_2", "label", "reason", "told"]
    assert all(list(pair) == keys for pair in PAIRS)
    assert all(re.fullmatch(r"[a-z][a-z-]+[a-z]", name) for name in ids(PAIRS))


def test_hygiene_changes_nothing():
    for text in (text for pair in PAIRS for text in texts(pair)):
        assert neutralise(text) == (text, 0) and text == " ".join(text.split())


def test_no_two_pairs_or_answers_are_alike():
    assert len(set(ids(PAIRS))) == len({pair["question"] for pair in PAIRS}) == len(PAIRS)
    shown = [vocabulary(answer) for pair in PAIRS for answer in texts(pair)[1:]]
    for first, second in combinations(shown, 2):
        assert len(first & second) / len(first | second) < 0.65


def test_no_text_names_a_candidate():
    named = re.compile(rf"\b(?:{'|'.join(NAMES)}|answer|candidate|response)s?\b", re.IGNORECASE)
    assert not [text for pair in PAIRS for text in texts(pair) if named.search(text)]


@pytest.mark.parametrize("pair", STRICT, ids=ids(STRICT))
def test_the_reason_is_one_sentence_that_quotes_one_answer(pair):
    assert re.fullmatch(r"(?:Answer [12]|The question) [^\n]{40,200}[.]", pair["told"])
    (span,) = re.findall(r'"([^"]{10,})"', pair["told"])
    source = better if pair["reason"] == "unanswered_part" else worse
    assert [span in answer for answer in texts(pair)[1:]] == [source(pair) == a for a in texts(pair)[1:]]
    named = re.findall(r"\b[Aa]nswer ([12])", pair["told"])
    assert named == [pair["label"] if pair["reason"] == "unanswered_part" else "21"[int(pair["label"]) - 1]]


# --- constraints and parts: the better answer keeps to the question, the worse one does not ----------


def lacks(pattern):
    return lambda answer: not re.search(pattern, answer, re.IGNORECASE)


def of_at_most_50_euros(answer):
    return 2 * sum(price for what, price in PRICES.items() if what in answer) <= 50


def never_on_two_days_in_a_row(answer):
    days = [at for at, day in enumerate(WEEK) if day in answer]
    return len(days) == 3 and all(later - earlier > 1 for earlier, later in pairwise(days))


CONSTRAINTS = {
    "music-note": lacks("landlord|police"),
    "dinner-guests": lacks("butter|milk|cream|cheese|yoghurt|meat|fish|chicken|ham|bacon"),
    "rainbow-child": lambda answer: sentences(answer) == 4,
    "saturday-budget": of_at_most_50_euros,
    "sleep-tips": lacks("food|eat|meal|drink|coffee|tea|wine|alcohol"),
    "heart-and-blood": lacks("pump"),
    "rivers-alphabetical": lambda answer: sorted(RIVERS, key=answer.index) == sorted(RIVERS),
    "late-parcel": lacks(r"\d|day|week|month|tomorrow"),
    "running-week": never_on_two_days_in_a_row,
    "inflation-plain": lacks(FIGURE),
}

PARTS = {
    "sky-blue-red": "At sunset",
    "wine-stain": "Do not",
    "used-car": "Against it",
    "garden-fence": "kilograms",
    "vaccine-booster": "booster",
    "moving-flat": "On the day itself",
    "password-manager": "If you forget it",
    "tulip-bulbs": "voles",
}


def test_every_constraint_and_part_is_checked():
    assert set(CONSTRAINTS) == set(ids(of("missed_constraint")))
    assert set(PARTS) == set(ids(of("unanswered_part")))


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_only_the_better_answer_meets_the_constraint(name):
    assert CONSTRAINTS[name](better(the_pair(name)))
    assert not CONSTRAINTS[name](worse(the_pair(name)))


@pytest.mark.parametrize("name", PARTS)
def test_only_the_better_answer_speaks_of_the_second_part(name):
    assert PARTS[name] in better(the_pair(name))
    assert PARTS[name].lower() not in worse(the_pair(name)).lower()


# --- facts that can be computed ---------------------------------------------------------------------


def says(name, right, wrong):
    """Whether the better answer alone says what is right, and the worse alone what is wrong."""
    good, bad = better(the_pair(name)), worse(the_pair(name))
    return right in good and wrong in bad and right not in bad and wrong not in good


def test_water_boils_at_about_90_degrees_at_3000_metres():
    # Barometric formula of the standard atmosphere, then Antoine's equation of water (mmHg, degrees Celsius).
    pressure = 760 * (1 - 0.0065 * 3000 / 288.15) ** 5.2559
    assert round(1730.63 / (8.07131 - math.log10(pressure)) - 233.426) == 90
    assert all("90 degrees Celsius" in answer for answer in texts(the_pair("boiling-altitude"))[1:])


def test_the_jacket_costs_54_euros_and_32_and_a_half_percent_are_saved():
    price = 80 * 0.75 * 0.9
    assert (price, 100 * (80 - price) / 80) == (54, 32.5)
    assert says("jacket-discount", "32.5 percent", "35 percent")


def test_noon_in_london_is_seven_in_new_york():
    noon = datetime(2025, 1, 15, 12, tzinfo=ZoneInfo("Europe/London"))
    assert noon.astimezone(ZoneInfo("America/New_York")).hour == 7
    assert says("watch-new-york", "7 in the morning", "5 in the afternoon")


def test_the_drive_ends_at_12_35():
    start = datetime(2025, 1, 1, 9, 40)
    assert f"{start + timedelta(hours=180 / 72, minutes=25):%H:%M}" == "12:35"
    assert says("drive-arrival", "12:35", "12:55")


def test_leap_years():
    assert list(map(calendar.isleap, (1900, 2000, 2100))) == [False, True, False]
    assert says("leap-years", "1900 was an ordinary year", "both 1900 and 2000 were leap years")


def test_the_download_takes_two_minutes():
    assert 600 * 8 == 4800 and 4800 / 40 == 120
    assert says("download-time", "120 seconds", "15 seconds")


def test_the_garden():
    assert (2 * (12 + 9), 12 * 9, 12 * 9 * 30) == (42, 108, 3240)
    assert {"42", "108", "3,240", "3.24"} <= numbers(better(the_pair("garden-fence")))
    assert "42" in numbers(worse(the_pair("garden-fence")))


def test_the_account_holds_1102_euros_50():
    assert 1000 * 105 * 105 / 100**2 == 1102.5
    assert all("1,102.50" in answer for answer in texts(the_pair("interest-two-years"))[1:])


# --- ties -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", TIES, ids=ids(TIES))
def test_the_answers_of_a_tie_name_the_same_numbers(pair):
    assert numbers(pair["answer_1"]) == numbers(pair["answer_2"])


def test_both_notes_of_thanks_have_three_sentences():
    assert [sentences(answer) for answer in texts(the_pair("teacher-thanks"))[1:]] == [3, 3]


def test_one_order_of_errands_alone_has_no_wait():
    opens = {"bank": (9, 12), "library": (10.5, 15), "baker": (10, 24)}

    def no_wait(order):
        return all(
            opens[place][0] <= start < opens[place][1]
            for place, start in zip(order, (9.5, 10, 10.5), strict=True)
        )

    orders = [(a, b, c) for a in opens for b in opens for c in opens if len({a, b, c}) == 3]
    assert [order for order in orders if no_wait(order)] == [("bank", "baker", "library")]
    for answer in texts(the_pair("errands-order"))[1:]:
        assert answer.index("bank") < answer.index("baker") < answer.index("library")


# --- readme -----------------------------------------------------------------------------------------


def test_the_readme_counts_what_is_there():
    readme = (OWN / "README.md").read_text(encoding="utf-8")
    assert f"{len(PAIRS)} questions" in readme and f"{len(STRICT)} pairs" in readme
    assert f"{len(TIES)} ties" in readme
    for reason in REASONS:
        assert f"| `{reason}` | {len(of(reason))} |" in readme
    lengths = [words(answer) for pair in PAIRS for answer in texts(pair)[1:]]
    apart = [abs(words(better(pair)) - words(worse(pair))) for pair in STRICT]
    assert min(lengths) >= 40 and max(lengths) <= 90 and "40 to 90 words" in readme
    assert f"{min(apart)} to {max(apart)} words" in readme
