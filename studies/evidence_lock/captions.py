"""What each table's page says in words: its title, what it counts, how it tests, why it is empty."""

from __future__ import annotations

from collections.abc import Mapping

from shared.reporting.pages import Text

TEXTS: Mapping[str, Text] = {
    "agreement": Text(
        "Agreement with people, and change with the order",
        "Every pair is judged twice, each answer shown first once. Agreement is the share of the two "
        "verdicts that are the label, over pairs of which people prefer one: a judge's tie is a "
        "disagreement, or half an agreement in the second column. `of all` counts an answer without a "
        "verdict as a disagreement. A judge that always picks the first shown agrees with half. "
        "Inconsistency is the share of pairs, human ties too, whose verdict (one answer, the other, a tie) "
        "changes in any way when the order does; `picks the first shown` is the signed preference for a "
        "place behind it (1: always the first, -1: always the second), tested by flipping the signs of "
        "questions. Under `letters` the answers are called as in the paper, A the first and B the second; "
        "everywhere else by two neutral names.",
    ),
    "differences": Text(
        "What each protocol gains or loses against Structured",
        "Differences from Structured on the same pairs, of the mean over both orders. The primary test flips "
        "the signs of whole questions; its p is corrected (Holm) over the protocols and data sets of a judge "
        "and quantity, and `MDE` is the smallest difference that it would find four times in five. McNemar's "
        "test, for inconsistency alone, takes pairs for independent.",
    ),
    "verdicts": Text(
        "Verdicts over several presentations",
        "One verdict a pair, out of several: the order-averaged one is the answer that has the more of both "
        "orders' votes, a tie counting for neither; the majority is the most frequent of the same votes, "
        "two a judge under every protocol, and a tie where no single verdict is. Pairs that lack a verdict "
        "in either order have none. The most frequent `of all trials` counts crossed orders, wordings and "
        "samples too, of the pairs that were asked more; its mean number of votes stands beside it, and "
        "since more votes agree more often with equal skill, it is not to be held against a protocol with "
        "fewer. Rows of judge `all` pool the votes of all judges.",
    ),
    "cost": Text(
        "What a verdict costs",
        "Calls, tokens (prompt and completion, as the engine counts them, shared prefixes included) and "
        "seconds of one verdict, summed over all of a protocol's calls. Seconds are those of the machine "
        "that answered, with other calls in flight; a prefix that was computed before is not computed "
        "again, so that seconds depend on what else was asked.",
    ),
    "bundle": Text(
        "The lock taken apart",
        "From Structured to the lock in three steps, each a paired difference on the pairs that have all of "
        "them, so that the steps sum to the whole: the judge is told not to choose, and asked for its "
        "verdict in a second call of the same conversation; a fresh call that sees the frozen record, as an "
        "earlier step's, and the source; the source removed. The first two change more than one thing, and "
        "the evidence itself is another where the judge is told not to choose. So beside them: Structured's "
        "very evidence decided from alone, less Structured, and the lock less that; what writing evidence "
        "does at all (Structured less Standard), what the record adds to a second reading of the source, "
        "and what another judge's record is worth against the judge's own. Tests as in "
        "[differences](differences.md).",
    ),
    "orders": Text(
        "Where a change of verdict comes from",
        "The order in which the answers were inspected and the order in which the deciding call is shown "
        "the record are crossed. `through the record`: the verdict changes with the inspection order, the "
        "decision's order held; `direct`: with the decision's order, the record held; `both`: with the two "
        "together, which is the paper's inconsistency. Noise is how often it changes where no order does: "
        "under a wording of the instructions that says the same (`wording`), and from one sample to the "
        "next above temperature 0 (`replicate`). At temperature 0 a repeat is the same answer. What is left "
        "of a part above the noise is a difference on the same pairs; above `wording`, and of `direct` above "
        "either, it is a lower bound, since the noise draws more anew than the exchange does. Of the "
        "variance, `sampling, across records` is what both decisions from a record share, and `within a "
        "record` what sets them apart: the decision's noise together with what a record makes of the "
        "decision's order.",
    ),
    "budgets": Text(
        "Shorter records",
        "The lock with records of at most so many characters (the criteria, and a text on each answer): how "
        "much agreement is lost as the record shrinks, against Structured and against the longest record, "
        "how much was really written, how many fill their cap, which then cuts them, and how many are "
        "longer: an engine that enforces no schema caps nothing, and its rows say nothing about short "
        "records.",
    ),
    "leaks": Text(
        "Records that decide",
        "Call 1 is told not to choose. `names a better answer`: the record says which answer is better, by "
        "a choice or a comparison; `leans` counts praise of one answer, or criticism of the other alone, "
        "too; `followed` is how often the verdict is then that answer. Records are read by rules over "
        "words; how often a reader of [140 labelled records](../../data/embedded/evidence_lock/README.md) "
        "agrees with them is their `precision` and `recall`.",
    ),
    "lost": Text(
        "What the record lost",
        "Coverage of a sentence of an answer: the largest cosine between it and a sentence of the record's "
        "text about that answer; a sentence below `coverage.threshold` of params is missing. One row of "
        "judgement a pair and order: `lost` where Structured is right and the lock wrong, `kept` where both "
        "are right, `gained` where the lock is right and Structured wrong. If facts that the record lacks "
        "make the lock lose, coverage is lower in `lost` than in `kept`; without `gained` the comparison "
        "selects on noise, since pairs on which protocols differ by chance are the hard ones. Differences "
        "are between pairs of one data set with the better answer in the same place (`better answer stood "
        "first` says how groups differ in it), and not those of the groups' means. `own text less the "
        "other's` is coverage by the record's text on the answer itself less that by its text on the other "
        "answer; where it is not above 0, coverage does not tell the answers apart, and nothing that rests "
        "on it means anything. Examples are in [lost_examples](lost_examples.md).",
    ),
    "competence": Text(
        "The competence gate",
        "Whether a judge can do the task under a protocol at all: it prefers the answer that people prefer, "
        "over both orders, above chance; it ties less where people prefer one than where they call a tie; "
        "its verdict is not always the same on the screen. A judge that always picks the first answer shown "
        "loses no agreement in any protocol. A difference has the gate of the protocol that it is taken "
        "from.",
    ),
    "answers": Text(
        "What became of the answers",
        "The status of every trial: that of the first of its calls that is not `ok`. Only `ok` trials have "
        "a verdict; no other is ever turned into one. Ties are counted apart, the judge's among its "
        "verdicts and people's among the pairs.",
    ),
}

ABSENT: Mapping[str, str] = {
    "agreement": "no set in params has an item",
    "differences": "no set in params has `structured` and another scheme on the same pairs at temperature 0",
    "verdicts": "no pair of which people prefer one has verdicts in both orders",
    "cost": "no verdict was reached",
    "bundle": "no set in params has two of the schemes that a step leads between on the same pairs",
    "orders": "no set in params is crossed",
    "budgets": "no set in params has a scheme that writes a record at temperature 0",
    "leaks": "no set in params has a scheme that writes a record at temperature 0, or none could be read",
    "lost": "no pair of which people prefer one has verdicts of `structured` and a lock at temperature 0",
    "competence": "no set in params has a pair in both orders at temperature 0",
    "answers": "there are no judgements",
}
"""Why a table has no rows."""

EXCLUDED = (
    "Pairs without two verdicts (an answer that could not be parsed, was cut off, refused or failed in "
    "either order) are counted and left out."
)
EXCLUDED_HERE: Mapping[str, str] = {
    "answers": "Nothing is left out.",
    "agreement": f"But for `of all`: {EXCLUDED[0].lower()}{EXCLUDED[1:]}",
    "verdicts": "Trials without a verdict are counted and left out.",
    "orders": "Comparisons with a trial that has no verdict are left out.",
    "leaks": "Records that could not be read are counted and left out.",
    "lost": "Pairs and orders in which either protocol has no verdict are left out.",
}
"""How a table reads that leaves out something else, or nothing."""
