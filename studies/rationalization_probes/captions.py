"""What each table's page says in words: its title, what it counts, what it leaves out, why it is empty."""

from __future__ import annotations

from collections.abc import Mapping

from shared.reporting.pages import Text

_PLACE = (
    "Where each item is shown in one drawn order, ND is confounded with the place on the screen. So the last "
    "block has the share of the verdicts other than Tie that went to the text shown first."
)

_PROBE = (
    "How often each outcome came on pairs of equal content {cue}, and how the shares moved from Blind, item "
    "by item. The favoured side is the candidate that carries the cue (coding `carrier`){second} The signed "
    "shift, tested in [cue_effects](cue_effects.md), and LDS carry the test; LAO, a ratio that a chance "
    "movement makes as large as any, has no p. LDS, OLS, TS and LAO can't be negative, so that noise alone "
    "keeps them above 0. Two columns say how far: what an empty label line moves, a cue without information; "
    "and the central range if Blind and probe were exchangeable. The paper's numbers on equal pairs follow "
    "from the counts of its Tables 2-5; its Tables 6-8, about two samples of one model, stand beside rows of "
    "kind `samples`, where that set was run."
)

_FIGURE = (
    "First the outcomes and shifts by kind of pair, as in Tables 3-5; the favoured side is the attacked "
    "text. Then explanation drift against Blind, where the attacked text itself differs, so that a rationale "
    "has a reason to move; and the cue-aligned share of rationales (LAI with the attack's descriptors). The "
    "schemes without conciseness leave out the criterion that punishes length by rule. The paper's numbers "
    "are those that its text states."
)

TEXTS: Mapping[str, Text] = {
    "table_01_criteria": Text(
        "Table 1: the criteria, and the scores that they got",
        "The paper's Table 1 defines three categories, which its Appendix A prompt scores (our scheme "
        "`pointwise`); its section 4.4 names four criteria for SCoT and PBP. Definitions as our prompt has "
        "them: factual accuracy is how faithfully a text keeps to the document, with nothing invented, "
        "distorted, or left out that changes a cause or a fact; completeness is whether it covers the main "
        "points and the content that matters; coherence and fluency is whether it is grammatical, clear, in "
        "a logical order and easy to read. The numbers are mean scores, from 1 to 5, of the two candidates "
        "of equal pairs under Blind.",
    ),
    "table_02_blind": Text(
        "Table 2: outcomes under Blind",
        "How often each outcome came on pairs of equal content, without any cue. Tie is the Equality "
        "Detection Rate (EDR); ND is the balance of the other two, signed ([1,2] minus [2,1]) and as the "
        f"paper's size, which is undefined where nothing but ties came. {_PLACE}",
    ),
    "table_03_truth": Text(
        "Table 3: outcomes under Truth labels",
        _PROBE.format(
            cue="when candidate 1 is labelled LLM",
            second=", with which the paper's side, [1,2], coincides by design.",
        ),
    ),
    "table_04_flip": Text(
        "Table 4: outcomes under Flip labels",
        _PROBE.format(
            cue="when candidate 2 is labelled LLM",
            second=", with which the side of the paper's section 4.3, [2,1], coincides by design; one of its "
            "captions has [1,2] (`always_12`).",
        ),
    ),
    "table_05_placebo": Text(
        "Table 5: outcomes under the placebo badge",
        _PROBE.format(
            cue="when one candidate, drawn per item, carries the badge",
            second="; the paper favours [1,2] for every item (`always_12`).",
        ),
    ),
    "table_06_samples_truth": Text(
        "Table 6: two samples of one model, Truth labels",
        _PROBE.format(
            cue="that are two independent samples of one model, when candidate 1 is labelled LLM", second="."
        ),
    ),
    "table_07_samples_flip": Text(
        "Table 7: two samples of one model, Flip labels",
        _PROBE.format(
            cue="that are two independent samples of one model, when candidate 2 is labelled LLM",
            second="; the paper's caption has [1,2] (`always_12`).",
        ),
    ),
    "table_08_samples_placebo": Text(
        "Table 8: two samples of one model, the placebo badge",
        _PROBE.format(
            cue="that are two independent samples of one model, when one, drawn per item, carries the badge",
            second="; the paper favours [1,2] for every item (`always_12`).",
        ),
    ),
    "table_09_extractive": Text(
        "Table 9: an abstractive summary against extractive ones",
        "How often candidate 1, an abstractive summary ([1,2]), was preferred to each system's extract "
        "([2,1]). Who wrote candidate 1 is in its column: `llm` a language model, `llm:<judge>` the "
        "generator of that name, `given` whoever wrote what came with the documents. The paper's was a "
        "language model's; it states neither scheme nor probe for its table: its numbers stand beside every "
        "one of ours.",
    ),
    "table_10_identical": Text(
        "Table 10: identical texts",
        "How often each outcome came where both candidates are the same text. The paper shows the labels and "
        "states no scheme: its numbers stand beside every scheme under Truth and Flip, and beside none "
        f"under Blind. Identical texts differ in place and label alone. {_PLACE}",
    ),
    "revision": Text(
        "Figure 3: revision after the labels are revealed",
        "How often a verdict under Flip changed when the same conversation went on: `reveal` tells the true "
        "labels, `control` only asks again, `difference` is reveal minus control, paired, and is the effect "
        "of the reveal itself. The paper has no control.",
    ),
    "cue_effects": Text(
        "The effect of a cue",
        "The primary outcome: by how much a cue raises the probability that the candidate that carries it is "
        "picked, against Blind's picks of the same candidate in the same screen order; the change of ties; "
        "and the drift of the rationale above that under an empty label line. Condition `empty` is the same "
        "cue line without information: what any extra line does. p is from sign flips of whole documents. "
        "Holm's p corrects one declared family: equal pairs under Truth, Flip and Placebo, all three "
        "outcomes, over all judges and schemes of this table. MDE is the smallest effect that one test at "
        "alpha, not corrected, would find with probability 0.8 (above 1: no effect would be; n/a: too few "
        "documents for any). The grafted arm of PBP is in no family: it has its own table.",
    ),
    "relabel": Text(
        "One text relabelled, its opponent fixed",
        "The paper's single-summary subset: only candidate 1 gets a label (`relabel_llm`: LLM; "
        '`relabel_tradml`: the other), its opponent "has no label" throughout. First the outcomes; then '
        "the effects on how often candidate 1 is picked. Condition `relabel_contrast` is one label against "
        "the other on the same text, all else being equal: the label's own effect. The others are against "
        "Blind, which lacks the line of labels as well; `empty` is that line without information.",
    ),
    "rationale_drift": Text(
        "Figure 5a: explanation drift",
        "How far rationales move from Blind's rationale of the same pair: `drift` is the normalised cosine "
        "distance of section 4.3, in [0, 1]; `cosine` the raw cosine; `changed` the share of pairs whose "
        "distance is above a threshold fixed in params. `all` is over all pairs with both rationales; `same` "
        "over those with the same decision, as in the paper, which selects after treatment. Drift is above 0 "
        "by noise alone: conditions `empty` (a cue line without information) and `resample` (Blind again, at "
        "a temperature above 0) are the two floors, and the last rows test a cue's drift against each, pair "
        "by pair. Equal pairs are shown here, every kind in the CSV. PBP's rationale is written after the "
        "judge is told the computed result, so that its agreement with the verdict is obedience and its "
        "drift rests on a given result.",
    ),
    "rationale_alignment": Text(
        "Figure 5b: label-aligned rhetoric",
        "LAI: the share of rationales that are nearer, in the encoder's space, to the cue's descriptor than "
        "to the other one (section 4.3). A scorer leans one way by itself: so the same scorer on Blind's "
        "rationales of the same pairs stands beside, and the paired difference is the cue's part. One row a "
        "wording of the descriptors, then their mean, and the range over wordings. p of `LAI` is against "
        "0.5, of the difference against 0; none is corrected. Equal pairs are shown here, every kind in the "
        "CSV.",
    ),
    "attack_verbosity": Text("Figure 6: the verbosity attack", _FIGURE),
    "attack_confidence": Text("Figure 7: the confidence attack", _FIGURE),
    "attacks": Text(
        "What the attacks changed",
        "Whether every number and name of the attacked text is still there and none was added, and how much "
        "longer it got (words after over words before). Column judge names the writer; a text that lost or "
        "gained a number or a name is not put on trial.",
    ),
    "consistency": Text(
        "Consistency and stereotype intrusion",
        "The paper names both and defines neither. Consistency: of the rationales that state a preference, "
        "the share that agree with the verdict. Intrusion: the share of rationales that argue from the "
        "source label or badge, and how much more often than Blind's rationale of the same pair. How well "
        "the two scorers read is in [scorers](scorers.md). Equal pairs are shown, every kind is in the CSV. "
        "PBP's rationale is written after the judge is told the computed result, so that its agreement with "
        "the verdict is obedience and its drift rests on a given result.",
    ),
    "scorers": Text(
        "How well the rationale scorers read",
        "Precision and recall of the two scorers behind [consistency](consistency.md), by class, on examples "
        "made by hand by someone who had not seen them, and on real rationales of the judge labelled blind "
        "to condition. Intervals are Wilson's. The judge's own rationales seldom state a preference or argue "
        "from a label: recall on them rests on a handful.",
    ),
    "invariance": Text(
        "Cue invariance at a glance",
        "What the headline figure draws, a judge and scheme at a time: `outcome shift` is the signed cue "
        "effect, pooled over Truth, Flip and Placebo on equal pairs (0 is invariant); `rationale shift` the "
        "drift above an empty label line's; `sensitivity` how much more often the undamaged text is "
        "preferred. The floor is what comes without a cue: of the outcome, the answer under the empty label "
        "line, as if a candidate drawn per item carried a cue (one answer, where three cues are pooled, so "
        "that it is rather too wide than too narrow); of the rationale, Blind sampled again. PBP's rationale "
        "is written after the judge is told the computed result, so that its agreement with the verdict is "
        "obedience and its drift rests on a given result.",
    ),
    "price": Text(
        "The price of a label, in errors",
        "On the damage ladder: how many recorded errors the LLM label is worth to this judge under this "
        "scheme. A fractional logit (ties half) on the number of errors, the label and the place; the price "
        "is the label's slope over an error's, and is n/a where the judge does not react to errors, since a "
        "ratio over nothing means nothing. Sensitivity and ties by number of errors stand below: invariance "
        "that is bought by abstaining shows there. The undamaged text is always paraphrase 1 and the damaged "
        "one made of paraphrase 2 (answers likewise), so that a taste for one of the two, or for length, is "
        "part of the error's slope.",
    ),
    "grafting": Text(
        "What the lock protects",
        "Notes written without a cue or with it are scored without it or with it; every effect is against "
        "notes and scores without. `through the notes`: the cue was seen while the notes were written; "
        "`direct`: at scoring only; `total`: both; `interaction`: what is left. Condition `empty` is the "
        "noise: a line without information.",
    ),
    "cross_task": Text(
        "Another task: answers to a question",
        "The same probes on pairs of answers with equal content, through the same code: outcomes under each "
        "probe, then the effect of the cue as in [cue_effects](cue_effects.md). The gate is asked on damaged "
        "answers.",
    ),
    "cost": Text(
        "What a decision costs",
        "Means over the first decision on equal pairs under Blind, with all of its turns; the ratio is to "
        "the forced choice, item by item. A request that two trials share is counted for each, as if asked "
        "alone. Seconds are those of the run that paid. The failure rate is the share of trials without a "
        "verdict. What requests share of a prompt is computed ahead of them and charged to no call: computed "
        "tokens are the few that are left, much the same for every scheme, and have no ratio. Whatever else "
        "ran on the machine slowed some calls. So calls, prompt and completion tokens compare schemes, "
        "seconds hardly do.",
    ),
    "protocols": Text(
        "Figure 1: the protocols that ran",
        "The turns of each scheme in order, what each sees and must write (found by running the protocol on "
        "a made-up trial with Reveal-After), and how many different calls were made; a call that several "
        "trials share is counted once.",
    ),
    "competence": Text(
        "The competence gate",
        "Whether a judge under a scheme can tell a damaged text from a sound one at all: it prefers the "
        "undamaged text over both screen orders (above 0), ties less on damaged than on equal pairs (above "
        "0; within documents that have both kinds, else between two groups of documents; not asked of a "
        "forced choice), and does not always give one answer on the screen (its most frequent answer stays "
        "below 1). p is one-sided. Where schemes were asked about different numbers of errors, only those "
        "that all were asked about count.",
    ),
    "spans": Text(
        "Quoted spans",
        "The share of the spans that PBP's notes quote that stand in the source document or, of answers to "
        "a question, in either answer as it was shown. n counts those whose notes quote something.",
    ),
    "answers": Text(
        "What became of the answers",
        "The status of every answer that was due, over all kinds of pairs. Only `ok` answers have a verdict; "
        "no other is ever turned into one.",
    ),
}

ABSENT: Mapping[str, str] = {
    "table_02_blind": "params have no set `equal`",
    "table_03_truth": "params have no set `equal` under truth",
    "table_04_flip": "params have no set `equal` under flip",
    "table_05_placebo": "params have no set `equal` under placebo",
    "table_01_criteria": "no scheme that scores was asked under Blind on equal pairs",
    "table_06_samples_truth": "params have no set of kind `samples` under truth",
    "table_07_samples_flip": "params have no set of kind `samples` under flip",
    "table_08_samples_placebo": "params have no set of kind `samples` under placebo",
    "relabel": "no set in params has the probe `relabel_llm` or `relabel_tradml`",
    "rationale_drift": "no scheme with rationales was shown anything besides blind",
    "rationale_alignment": "no scheme with rationales was shown a cue",
    "attack_verbosity": "no set in params has the probe `verbosity`, or no text could be rewritten",
    "attack_confidence": "no set in params has the probe `confidence`, or no text could be rewritten",
    "attacks": "no set in params has an attack",
    "consistency": "there are no rationales",
    "scorers": "there are no labelled examples",
    "invariance": "no set `equal` in params has a cue",
    "price": "no set of damaged pairs in params has the labels",
    "grafting": "no set in params has the scheme `pbp_grafted`",
    "cross_task": "params have no set `qa_equal`",
    "cost": "params have no set `equal`",
    "protocols": "there are no answers",
    "table_09_extractive": "params have no set `extractive`",
    "table_10_identical": "params have no set `identical`",
    "revision": "no set in params has `reveal: true`",
    "cue_effects": "no set in params has a cue",
    "competence": "params have no set of damaged pairs",
    "spans": "no set in params has a PBP scheme",
    "answers": "there are no judgements",
}
"""Why a table has no rows."""

EXCLUDED = (
    "Answers that could not be parsed, were cut off, refused or failed are counted (unparsed) and left out "
    'of each estimate and its interval; "of all", printed where there are any, keeps them in the '
    "denominator, as the paper does."
)
EXCLUDED_HERE: Mapping[str, str] = {
    "competence": "Answers without a verdict are left out, as are damaged pairs that have a verdict in one "
    "screen order only; both are counted (unparsed).",
    "spans": "Notes that could not be read are counted (unparsed) and left out.",
    "answers": "Nothing is left out.",
    "attacks": "Texts that could not be rewritten are counted (unparsed).",
    "scorers": "",
    "protocols": "",
    "cost": "Trials without a verdict are counted (unparsed) and left out of the means: a protocol that "
    "breaks off would else look cheap.",
}
