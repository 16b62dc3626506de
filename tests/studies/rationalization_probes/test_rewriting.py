"""The attacks' rules, and the check that numbers and names came through: by hand, and on embedded texts."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studies.rationalization_probes.documents import load_embedded
from studies.rationalization_probes.rewriting import (
    CERTAIN,
    FILLERS,
    FIRM,
    FUNCTION_WORDS,
    HEDGES,
    REPEATING,
    NoWords,
    Survival,
    assertive,
    count_words,
    survives,
    verbose,
)

FERRY = (
    "The ferry opened in May 2019 and carries 900 people a day between Orrin and Tarn. "
    "It cost 2.5 million pounds. "
    "Ada Voss designed the hull, which was built in Dunmore by a crew of twelve. "
    "Fares may rise next year."
)
"""16 + 5 + 15 + 5 = 41 words."""

TEXTS = [
    text
    for document in load_embedded()
    for text in (document.summary, document.paraphrase_1, document.paraphrase_2)
    if text
]
SENTENCES = [
    "The tram ran.",
    "Ada Voss led 3 trials.",
    'He said: "No."',
    "Why?",
    "- 5 of 7 agreed",
    "e.g. Rome…",
]
PIECES = st.lists(st.sampled_from([*SENTENCES, "\n\n", "  ", "no 1,150 end", "-2 degrees.", "x"]), min_size=1)
WORDY = PIECES.map(" ".join).filter(lambda text: re.search(r"\w", text))
SEEDS = st.integers(0, 50)


def openers(*groups):
    return [word for group in groups for opener in group for word in opener]


def without(text, phrases):
    """The text with each of the phrases taken out, in lower case."""
    pattern = "|".join(re.escape(phrase.lower()) for phrase in sorted(phrases, key=len, reverse=True))
    return re.sub(pattern, "", text.lower())


# --- Longer -----------------------------------------------------------------------------------------


def test_a_longer_text_by_hand():
    # 41 words, so 17 to 24 are to be added. The first sentence again is 16 words and an opener of 2 to 4: 18
    # to 20, which is enough; the sentence that begins with a pronoun is never the one.
    assert count_words(FERRY) == 41
    added = verbose(FERRY, 0).removeprefix(f"{FERRY} ")
    opener = next(o for o in openers(REPEATING) if added.startswith(o))
    first = "the ferry opened in May 2019 and carries 900 people a day between Orrin and Tarn."
    assert added == opener + first


def test_a_single_sentence_is_filled_up_and_not_said_again():
    # 10 words: the sentence again would double them, so one filler (8 to 13 words) is all.
    text = "A ferry opened in May and carries people every day."
    added = verbose(text, 7).removeprefix(f"{text} ")
    assert added in FILLERS


def test_a_very_long_sentence_takes_every_filler_once_and_no_more():
    text = f"The ferry {'and the tram ' * 80}ran."
    added = verbose(text, 7).removeprefix(f"{text} ")
    assert sorted(re.split(r"(?<=\.) ", added)) == sorted(FILLERS)


def test_a_sentence_that_points_back_is_not_said_again():
    text = "It ran. They ran on. This ran far. He saw it run. Its crew ran too. These ran."
    assert all(sentence in FILLERS for sentence in re.split(r"(?<=\.) ", verbose(text, 3)[len(text) + 1 :]))


def test_a_text_without_a_full_stop_gets_one_before_more_is_said():
    assert verbose("A ferry opened", 1).startswith("A ferry opened. ")
    assert verbose('He said "no."', 1).startswith('He said "no." ')
    assert verbose("A list\n- one\n", 1).startswith("A list\n- one\n")


def test_embedded_texts_grow_by_about_half_and_keep_their_facts():
    for text in TEXTS:
        longer = verbose(text, 5)
        assert longer.startswith(f"{text} ")
        assert 1.4 <= count_words(longer) / count_words(text) <= 1.6, text
        assert survives(text, longer).facts, text


def test_what_is_added_is_of_the_text_or_says_nothing():
    for text in TEXTS:
        added = verbose(text, 5)[len(text) :]
        rest = without(added, [*FILLERS, *openers(REPEATING)])
        assert set(re.findall(r"\w+", rest)) <= set(re.findall(r"\w+", text.lower())), text


# --- Firmer -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "ending"),
    [
        ("The lapse of a permit stopped it.", ", the lapse of a permit stopped it."),
        ("In 2014 workers bought the mill.", ", in 2014 workers bought the mill."),
        ("However, eclipses give less.", ", however, eclipses give less."),
        ("The Long Distance sold well.", ": The Long Distance sold well."),  # may be a title
        ("A. Smith led it.", ": A. Smith led it."),  # an initial
        ("Worn batteries stored it.", ": Worn batteries stored it."),  # no way to tell from a name
        ("Mario Lazzarini made a claim.", ", Mario Lazzarini made a claim."),
        ("NASA paid.", ", NASA paid."),
        ("F33 is open.", ": F33 is open."),
        ("900 people sailed.", ", 900 people sailed."),
        ('"No," she said.', ', "No," she said.'),
        ("paul merson has left .", ", paul merson has left ."),
        ("Will Hay led it.", ", Will Hay led it."),
    ],
)
def test_a_word_that_could_be_a_name_keeps_its_capital(sentence, ending):
    firm = assertive(sentence, 0)
    assert firm.endswith(ending)
    assert firm.removesuffix(ending) + ending[0] + " " in openers(CERTAIN)


def test_a_name_is_known_from_within_another_sentence():
    # "Fermat" stands inside the second sentence, so that the first may flow; "Goldbach" does not.
    firm = assertive("Fermat wrote. Euler read what Fermat wrote. Goldbach's letter helped.", 0)
    one, two, three = firm.split(".")[:3]
    assert one.endswith(", Fermat wrote") and two.endswith(": Euler read what Fermat wrote")
    assert three.endswith(": Goldbach's letter helped")


@pytest.mark.parametrize(
    "sentence",
    [
        "Fares may rise next year.",
        "Perhaps the fares rose.",
        "Eclipses give 1.8, probably because land is rising.",
        "Why did the fares rise?",
    ],
)
def test_what_is_left_open_stays_so_and_is_not_called_certain(sentence):
    firm = assertive(sentence, 0)
    assert any(firm.startswith(opener) for opener in openers(FIRM))
    assert firm.lower().endswith(sentence.lower())


def test_the_month_of_may_is_no_hedge():
    assert any(assertive("The ferry opened in May.", 0).startswith(o) for o in openers(CERTAIN))


def test_no_opener_repeats_before_all_were_used():
    firm = assertive("The tram ran. " * len(CERTAIN), 4)
    used = [sentence.split(" the tram ran")[0] for sentence in firm.split(". ")[: len(CERTAIN)]]
    assert sorted(used) == sorted(opener.flowing.strip() for opener in CERTAIN)


def test_a_firmer_text_is_the_text_with_openers_and_nothing_else():
    for text in TEXTS:
        firm = assertive(text, 5)
        assert without(firm, openers(CERTAIN, FIRM)) == text.lower()
        assert survives(text, firm).facts, text
        assert 1 < count_words(firm) / count_words(text) <= 1.25, text


def test_lines_and_bullets_stay_where_they_are():
    firm = assertive("The first line.\n\n- The tram ran.\n- The ferry ran.", 0)
    assert re.fullmatch(
        r"\w[^\n]*, the first line\.\n\n- [^\n]*, the tram ran\.\n- [^\n]*the ferry ran\.", firm
    )


# --- Both -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rewrite", [verbose, assertive])
def test_a_text_without_a_word_or_a_number_is_refused(rewrite):
    for text in ("", " \n", "...", "!"):
        with pytest.raises(NoWords, match="cannot be rewritten"):
            rewrite(text, 1)
    assert "42" in rewrite("42", 1)


@pytest.mark.parametrize("rewrite", [verbose, assertive])
def test_names_alone_decide_what_is_drawn(rewrite):
    made = {rewrite(FERRY, 1, f"item {n}") for n in range(30)}
    assert rewrite(FERRY, 1, "item 3") == rewrite(FERRY, 1, "item 3")
    assert len(made) > 2


@settings(max_examples=40)
@given(WORDY, SEEDS)
def test_a_longer_text_keeps_the_text_at_its_head_and_its_facts(text, seed):
    longer = verbose(text, seed)
    assert longer.startswith(text)
    found = survives(text, longer)
    assert found.facts and found.added_words > 0


@settings(max_examples=40)
@given(WORDY, SEEDS)
def test_a_firmer_text_keeps_every_character_and_the_facts(text, seed):
    firm = assertive(text, seed)
    assert without(firm, openers(CERTAIN, FIRM)) == without(text, openers(CERTAIN, FIRM))
    assert survives(text, firm).facts


def test_our_own_words_hold_no_number_name_or_hedge():
    for phrase in (*FILLERS, *openers(REPEATING, CERTAIN, FIRM)):
        assert survives("nothing", phrase).facts, phrase
        assert not HEDGES & set(phrase.lower().split())
        # A first word with a capital is a function word or an adverb, which is no name to the check.
        first = re.findall(r"\w+", phrase)[0].lower()
        assert first in FUNCTION_WORDS | {"nothing", "stated", "put", "said", "let"} or first.endswith("ly")


# --- What survives ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("original", "rewritten", "numbers", "names"),
    [
        ("Ada led 3 trials.", "Ada led 3 trials, all 3.", True, True),
        ("Ada led 3 trials.", "Ada led three trials.", True, True),
        ("It cost 1,150 pounds.", "It cost 1150 pounds.", True, True),
        ("It cost 1.5 million.", "It cost 1.5 billion.", False, True),
        ("It cost 1.5 million.", "It cost 15 million.", False, True),
        ("Twenty people came.", "Thirty people came.", False, True),
        ("It fell to -2 degrees.", "It fell to 2 degrees.", False, True),
        ("It fell to −2 degrees.", "It fell to -2 degrees.", True, True),
        ("From 1990-1995 it ran.", "It ran from 1990 to 1995.", True, True),
        ("It ran in 1990.", "It ran.", False, True),  # lost
        ("It ran.", "It ran in 1990.", False, True),  # invented
        ("Then Ada Voss led.", "Then Ada Tarn led.", True, False),
        ("Ada Voss led.", "Voss led.", True, False),  # lost, at the start
        ("The hull is by Ada Voss.", "The hull is by its designer.", True, False),
        ("The hull is new.", "The hull, by Ada Voss, is new.", True, False),
        ("Reviewer Ada Voss led.", "It was led by the reviewer Ada Voss.", True, True),
        ("Orrin's ferry ran to Tarn.", "The ferry of Orrin ran to Tarn.", True, True),
        ("Worn cells ran.", "There is no doubt: Worn cells ran.", True, True),
        ("Ada Voss led.", "Undoubtedly Ada Voss led.", True, True),
        ("It ran, as I saw.", "It ran.", True, True),
        ("paul merson ran.", "Paul Merson ran.", True, True),
        ("The novel The Ledger sold.", "The novel sold.", True, False),
        ("", "", True, True),
    ],
)
def test_survival_by_hand(original, rewritten, numbers, names):
    found = survives(original, rewritten)
    assert (found.numbers, found.names) == (numbers, names)
    assert found.facts == (numbers and names)


def test_added_words_are_counted_with_their_sign():
    assert survives("one two three", "one two three four").added_words == 1
    assert survives("one two three", "one").added_words == -2
    assert Survival(True, False, 0).facts is False


@settings(max_examples=25)
@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
def test_survival_is_the_same_from_either_side(one, other):
    there, back = survives(one, other), survives(other, one)
    assert there[:2] == back[:2]
    assert there.added_words == -back.added_words


def test_paraphrases_by_hand_keep_numbers_and_names():
    """Written without this check in view: none of them may be taken for a loss."""
    for document in load_embedded():
        for paraphrase in (document.paraphrase_1, document.paraphrase_2):
            assert survives(document.summary, paraphrase).facts, document.id


def test_recorded_errors_are_found_where_a_number_or_a_name_changed():
    """The ladder's wrong numbers, all; of its swapped names those that bring another name."""
    found = {"wrong_number": [], "swapped_name": []}
    for document in load_embedded():
        for edit in document.damage:
            if edit.kind in found:
                damaged = document.paraphrase_2.replace(edit.before, edit.after)
                found[edit.kind].append(survives(document.paraphrase_2, damaged))
    assert found["wrong_number"] and not any(each.numbers for each in found["wrong_number"])
    # Three swaps give what they take ("64 percent under copper, 51 under water"): no set shows that.
    assert sum(each.facts for each in found["swapped_name"]) == 3 < len(found["swapped_name"]) / 4
