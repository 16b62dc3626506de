"""Sentences that state a preference, or none: written for the tests, with what a reader takes them to say."""

WORDS = [
    "summary",
    "1",
    "2",
    "the",
    "first",
    "second",
    "both",
    "neither",
    "other",
    "not",
    "better",
    "no",
    "than",
    "errors",
    ".",
    ",",
    "but",
]
"""Of which such sentences are made, and texts that are none."""

STATED = [
    # comparisons
    ("summary_1 is better.", "first"),
    ("Summary 2 is more accurate than summary 1.", "second"),
    ("Summary 2 is less complete than Summary 1.", "first"),
    ("Summary 1 has more errors than summary 2.", "second"),
    ("Summary 1 is less wordy.", "first"),
    ("Compared to summary 2, summary 1 gives a fuller picture.", "first"),
    ("summary_1 outperforms summary_2 in every way.", "first"),
    ("Summary 2 could be clearer.", "first"),
    # choices
    ("I would choose summary 1 over summary 2.", "first"),
    ("The result is summary_2 because its notes are stronger.", "second"),
    ("Summary 1, not summary 2, is the better one.", "first"),
    ("Summary 1 is slightly more fluent, but overall it is a tie.", "tie"),
    # praise and criticism of one alone
    ("Summary_1 omits the date of the treaty.", "second"),
    ("summary_2 lacks detail that summary_1 has.", "first"),
    ("The date is missing from summary 1.", "second"),
    ("Summary 1 is complete and the date is missing from summary 2.", "first"),
    ("Only summary 1 mentions the price.", "first"),
    ("Summary 1 mentions the cost, whereas summary 2 does not.", "first"),
    ("Summary 1 has two mistakes and summary 2 has none.", "second"),
    ("Summary_2 adds a claim that is not in the document.", "first"),
    # negation
    ("Summary 1 is not as clear as summary 2.", "second"),
    ("Summary 1 is not as wordy as summary 2.", "first"),
    ("Summary_1 does not omit anything important.", "first"),
    ("Summary 2 is neither clear nor complete.", "first"),
    ("Nothing is missing from summary 1, while summary 2 leaves out the ending.", "first"),
    ("I don't think summary 1 is better.", "second"),
    # concession
    ("Although summary 1 is more concise, summary 2 captures more of the key facts.", "second"),
    ("While both are accurate, the second is more concise.", "second"),
    ("Summary 1 is fluent but misses the main cause.", "second"),
    ("It is hard to choose, but summary 1 is a little more complete.", "first"),
    # ties
    ("Neither summary is better than the other.", "tie"),
    ("Both are equally good.", "tie"),
    ("Summary 1 is as accurate as summary 2.", "tie"),
    ("Summary 1 is no better than summary 2.", "tie"),
    ("summary_1 has 4 of 5, summary_2 has 4 of 5.", "tie"),
    # nothing stated
    ("Summary 1 describes the causes and summary 2 describes the effects.", "none"),
    ("Summary 1 is clear. Summary 2 is accurate.", "none"),
    ("Summary_1 is more concise, but summary_2 is more complete.", "none"),
    ("Summary 1 is shorter than summary 2.", "none"),
    ("Both summaries describe the history of the bridge.", "none"),
    ("It is more concise and accurate.", "none"),
    ("summary_1 was written by LLM and summary_2 was written by TradML.", "none"),
    ("", "none"),
    # names
    ("The second one is clearer.", "second"),
    ("The first covers every step; the second skips two.", "first"),
    ("The other summary omits facts; summary 2 does not.", "second"),
    ("the latter is more precise", "second"),
    ("summary_1 has 3.75 of 5 and summary_2 has 4.25 of 5.", "second"),
    ("answer_2 is correct; answer_1 is wrong.", "second"),
]
