"""A row of each data set's layout, and files of such rows."""

from __future__ import annotations

import json

LEVELS = ["Bad.", "Poor.", "Fair.", "Good.", "Best."]
SIX = ("Relevance", "Coherence", "Empathy", "Surprise", "Engagement", "Complexity")
FOUR = ("coherence", "consistency", "fluency", "relevance")
TEACHERS = ("grammar", "cohesive", "enjoy", "relevant")

RESPONSE = {
    "idx": 7,
    "response_source": "model-a",
    "category": "writing",
    "instruction": "Write a rhyme.",
    "response": "Roses are red.",
    "reference_answer": "A rhyme.",
    "criterion": "Does it rhyme?",
    "levels": {str(n): text for n, text in enumerate(LEVELS, start=1)},
    "gpt4_score": [3, 4, 4],
}
STORY = {
    "prompt_index": 0,
    "prompt": "A key is lost.",
    "system": "Human",
    "story": "It was found.",
    "mean": {},
    "ratings": dict(zip(SIX, ([1, 2, 1], [1, 2, 2], [1, 2, 3], [1, 2, 4], [1, 2, 5], [5]), strict=True)),
}
ARTICLE = {"doc_id": "d1", "source": "A ferry sank.", "reference": "Sunk."}
SUMMARY = {"doc_id": "d1", "system_id": "M0", "summary": "It sank.", **dict.fromkeys(FOUR, 4.5)}
TOLD = {"prompt": "A key.", "story": "Lost.", "human_written": 1, **{name: [1, 2, 4] for name in TEACHERS}}


def stories(tmp_path, **entries):
    file = tmp_path / "wp_a.json"
    file.write_text(json.dumps(entries), encoding="utf-8")
    return file
