"""What each table's page says in words: its title, what it counts, how it tests, why it is empty."""

from __future__ import annotations

from collections.abc import Mapping

from shared.reporting.pages import Text

TEXTS: Mapping[str, Text] = {
    "position": Text(
        "Which places a judge chooses",
        "How often the score that a judge chose stood at each place of the list, over the balanced orders, "
        "in which every score stands equally often at every place: without a preference for places each has "
        "1/n of the choices, whatever the texts are worth. `direction` is the signed summary (-1: always "
        "the first place, 1: always the last); Cramer's V its size, with the root; `V squared` the paper's "
        "formula as printed, of the choices and, with the paper's N, of all that was asked. The primary "
        "test deals each source's scores anew to its orders, which is exact under any content; its range "
        "without bias stands beside V, since noise alone keeps V above 0. Chi-square is the paper's test, "
        "with its own p: judges with sharp content make it conservative, sources whose scores move together "
        "make it reject too often, and `tests differ` says where the two part, and why. Where not all "
        "balanced orders were asked, only the permutation test is defined. The ratio is what chi-square "
        "would average without bias, over its degrees of freedom.",
    ),
    "rubric_size": Text(
        "Position bias by the number of score options",
        "Cramer's V where the same rubric is told in two, three, five or nine levels, over the items that "
        "have a choice under every size. Noise makes V larger where there are fewer choices, and small "
        "rubrics have fewer orders, so that `V above noise` has the mean of the range without bias taken "
        "away; read it before V. Differences between two sizes are signed and resampled together. The last "
        "rows tell in what share of the resamples a size has the lowest V, which is how sure the order of "
        "sizes is. The levels between the five of a rubric of nine are worded as halfway between two of "
        "them.",
    ),
    "criterion_order": Text(
        "Does a criterion's score depend on its place in the list?",
        "Several criteria are scored in one prompt, in balanced orders: the mean score of a criterion by "
        "the place at which it stood, in points of 1 to 5, under each order (`scale`) in which the range "
        "itself was listed: what places do under one, they may undo under the other, and a mean over both "
        "would hide it. The paper's number stands beside the range from 1 to 5. `last less first` is the "
        "signed shift; `largest shift` cannot be below 0 and stands beside what it would be by chance. "
        "Friedman's test, blocked by item, is the paper's, with its p and Holm's; Kendall's W is the same as "
        "an effect, and its p, the primary test, deals each source's scores anew to the orders; `tests "
        "differ` says where the two part, and why. The rows without a scale are about both ranges together, "
        "and tell whether the axes are independent: the shift that listing the range upwards makes, the "
        "difference between the two largest shifts, and how far the two profiles over places differ.",
    ),
    "agreement": Text(
        "Agreement with reference scores, by order strategy",
        "Correlation of a text's mean score over K orders with its reference score: Balanced (K of the 2n "
        "rotations), Random (K orders drawn for each item) and Fixed (the canonical one). Two strategies are "
        "compared at the most orders that both have, on the same items and in the same resamples of sources. "
        "A difference is resampled as one, and `MDE` is the smallest that its interval would keep clear of "
        "0 four times in five. At temperature 0 Fixed is asked once (k = 1 where it stands alone): an engine "
        "that answers equal requests alike would repeat itself. Whose the reference scores are is in the "
        "column `rater`: people's, a model's, or the level that a writer intended; no row mixes two. The "
        "rows that count cells are the paper's way of telling it: how many of them have an interval that "
        "holds 0, or lies above or below it. Where one prompt asks for several criteria, they are pooled "
        "first, and rows that name one (r alone) are of it alone.",
    ),
    "gain": Text(
        "What balancing gains, beside the bias",
        "Pearson's r of Balanced less that of Fixed, one row a judge, data set and number of options, with V "
        "of the choices by place. The paper claims that only strongly biased judges gain: then the two go "
        "together, which the rank correlation over cells tells where there are three or more. Its interval "
        "resamples sources and keeps the cells, so that it says nothing about other judges.",
    ),
    "k_curve": Text(
        "How many orders are enough?",
        "Pearson's r with the reference over the number of orders k, on the same items at every k, and the "
        "share of the way from a strategy's own r at k = 1 to Balanced's r at K; n/a where that way is not "
        "beyond chance. At k = 1 Balanced and Random are one drawn order each, not the canonical one. At "
        "temperature 0 Fixed has no gain by construction. The largest gap between the curves of Balanced "
        "and Random can't be negative, and noise raises it: read it as a bound. Rows without a judge are "
        "means over several judges or data sets.",
    ),
    "ranking": Text(
        "Do rankings change with the order of the options?",
        "The candidates of a prompt are ranked by their mean scores under two strategies: Kendall's tau-b, "
        "averaged over prompts, and the share of prompts whose best candidate changes. Where scores tie, "
        "whether the best one changes depends on how the tie is broken: `low` breaks ties in favour of "
        "agreement, `high` against it. Any two sets of orders rank differently by chance, so that two "
        "floors stand beside: two disjoint random halves of each text's balanced orders, and one balanced "
        "order, the same for all candidates, against all of them, averaged over which one it is. The second "
        "is the floor of a Fixed that is asked once: `over one` is what the canonical order adds to any "
        "other, contest by contest, in the same resamples; its `low` and `high` bound that difference, "
        "however ties break. A contest is a prompt or, where a text is scored by several criteria, also a "
        "prompt and criterion; without a tau are those in which a ranking has nothing but ties.",
    ),
    "logit": Text(
        "Content, leniency and position: the conditional logit",
        "A judge's choices as a choice among options, each worth its content, its score's leniency and its "
        "place's prior alpha, in log-odds; priors sum to 0. The estimate that leads compares an item's "
        "answers under two orders, so that content and leniency cancel, whatever they are; its errors are "
        "robust to what a source's items have in common. sd(alpha) is the paper's size of a prior, and its "
        "p, the primary test, a robust Wald test; an sd can't be negative, so that its interval reaches "
        "down to 0 wherever that test does not reject. The score test permutes within sources: it rejects "
        "too where sources have priors that cancel. `paper's form` has content from the item's other "
        "answers and is fitted as one choice an answer; its likelihood-ratio test is the paper's, and it "
        "takes items for independent, which the test beside its sd does not.",
    ),
    "prompt_arms": Text(
        "Position bias by prompt arm",
        "sd(alpha) of the [conditional logit](logit.md) under each prompt: base; the levels in prose; a "
        "warning that the order is arbitrary (debias); reasoning before the score (cot); a check after it "
        "(verify); the two ends named as fixed points (anchor). Arms are paired with base by source. Read "
        "the difference first; the ratio, the paper's, is n/a where base itself shows no prior beyond "
        "chance. p is uncorrected. Rows of all judges are means over the cells that have a fit under every "
        "arm, as many as `cells` says, with a p by permutation. The paper's form, of which its own numbers "
        "are, has an estimate where answers are too clear-cut for ours. Whose its numbers are the paper "
        "does not say: they stand beside each.",
    ),
    "temperature": Text(
        "Position bias by temperature and reasoning effort",
        "sd(alpha) of the [conditional logit](logit.md) at each temperature, and at each reasoning effort "
        "where the engine has such a switch, with the difference and the ratio to the lowest. A bias is "
        "flat where the differences are small beside `MDE`, the smallest that would be found four times in "
        "five; a difference that is not significant is not yet flat. p is uncorrected.",
    ),
    "first_token": Text(
        "The first token's distribution",
        "One call gives a probability of every score option, where sampling gives one answer. How much of "
        "the probability of the first token is on options at all; the mean probability of whatever stands "
        "at each place, over the balanced orders, with the same direction, V and permutation test as for "
        "the answers; V of the answers to the same trials with its own test, and the difference; and how "
        "far the expected score agrees with the score that was given. What the probability on options means "
        "is the engine's to say: llama.cpp reports the model's own distribution, before the schema cuts "
        "anything away, vLLM what is left after.",
    ),
    "calibration": Text(
        "Correcting single calls for position",
        "A prior of places is estimated from the orders of a few items and taken out of the option "
        "distributions of others, which were asked under one order: how well the corrected scores agree "
        "with the reference, and with the answers under the item's other orders, on items that the prior "
        "has not seen. Beside it stand the plain answer, the expected score uncorrected (G-Eval's), the "
        "prior of forward rotations (PriDe's), and the mean over all K orders, which takes K times the "
        "calls. Intervals hold the priors of each split fixed: they are of the items, not of the few that "
        "the prior was estimated from, and too narrow for a prior that is estimated anew. The share of the "
        "gain is of that from one answer to K, and n/a where that gain is not beyond chance. The range "
        "beside a prior is over random splits, and no confidence interval.",
    ),
    "budget": Text(
        "How many orders keep the effect of place under a limit",
        "The effect of place in an average over k of the balanced orders, drawn at random: V, less what "
        "noise adds to it, times what an average over k leaves; and the fewest orders that keep it within "
        "the limit `budget.position_effect` of params. The n forward rotations balance places exactly, and "
        "are the other way to get there; `cheapest` is the fewer. Where not all balanced orders were asked, "
        "the effect of place is not known. The shift of a score, as a share of the scale, is all that the "
        "orders change in single items: an effect of place that is the same for all items can be small "
        "while single items move a good deal, so that it is the number for whoever ranks items.",
    ),
    "competence": Text(
        "The competence gate",
        "Whether a judge's scores follow the texts at all: the rank correlation of its mean score over the "
        "balanced orders with the reference score, above 0, tested by exchanging the references between "
        "sources and among a source's systems, those of all criteria together (one-sided); and the share of "
        "its most frequent score, or place, since a judge that always picks one place looks perfectly "
        "stable: the upper end of its interval must stay short of nearly all. Where one answer scores "
        "several criteria, a judge may count (1, 2, 3, 4 by place, whatever the criteria are): the most "
        "frequent answer by place whose scores differ must be, by its upper end, below half of all, more "
        "than which scores that belong to criteria cannot reach. Items count once for each criterion. Cells "
        "that do not pass are an instrument check.",
    ),
    "answers": Text(
        "What became of the answers",
        "The status of every answer that was due; one that scores several criteria counts once. Only `ok` "
        "answers have a score; no other is ever turned into one.",
    ),
    "orders": Text(
        "What the balanced orders balance",
        "The balanced orders put every option equally often at every place; this tells how far they are "
        "from putting every option equally often after every other: the share of neighbours that would have "
        "to change (0: even). Rotations keep neighbours together, so that a judge's preference for an "
        "option that follows a certain other is not averaged out. This is arithmetic, not an estimate.",
    ),
}

ABSENT: Mapping[str, str] = {
    "position": "no set of the setting `score` in params has five options in balanced orders",
    "rubric_size": "no item in params is asked with two sizes in balanced orders",
    "criterion_order": "no set of the setting `criteria` in params has balanced orders",
    "agreement": "there are no scores of the main design",
    "gain": "no set in params has both balanced and fixed orders",
    "k_curve": "no set in params has two strategies and more than one order",
    "ranking": "no prompt has two candidates that were scored under two strategies, or under several orders",
    "logit": "no set of the setting `score` in params has five options in balanced orders",
    "prompt_arms": "no set in params has another scheme beside `base`",
    "temperature": "no set in params has two temperatures, or two reasoning efforts that the engine knows",
    "first_token": "no engine gives log-probabilities, or `answer.top_logprobs` is 0",
    "calibration": "no engine gives log-probabilities, or `answer.top_logprobs` is 0",
    "budget": "no set of the setting `score` in params has five options in balanced orders",
    "competence": "no set in params has balanced orders",
    "answers": "there are no judgements",
    "orders": "there are no sizes",
}
"""Why a table has no rows."""

EXCLUDED = (
    "Answers that could not be parsed, were cut off, refused or failed are counted (unparsed) and left out "
    "of each estimate and its interval."
)
EXCLUDED_HERE: Mapping[str, str] = {
    "answers": "Nothing is left out.",
    "orders": "",
    "k_curve": "Answers without a score are counted (unparsed, of the first k orders) and left out. Items "
    "whose first answer under some strategy gives none are left out at every k, so that all points of a "
    "curve are of the same items.",
    "criterion_order": "Answers without scores are counted (unparsed) and left out, as are items that have "
    "no score of a criterion at some place.",
    "first_token": "Trials without a distribution are counted in the first rows and left out of the others, "
    "as are items that lack one under some order.",
    "calibration": "Items without a distribution and an answer under every order are left out.",
}
"""How a table reads that leaves out something else, or nothing."""
