"""A row of each data set's layout, and files of such rows."""

from __future__ import annotations

import gzip
import json

OWN = {
    "id": "boil-egg",
    "question": "How long does an egg boil?",
    "answer_1": "Eight minutes, from cold water.",
    "answer_2": "Eight hours, from cold water.",
    "label": "1",
    "reason": "wrong_fact",
    "told": 'It says "Eight hours".',
}
PASSAGES = {
    "domain": "CDC",
    "split": "test",
    "question": "Can I travel?",
    "answer_a": "Yes, by train.",
    "answer_b": "Masks help.",
    "mean_a": 10 / 3,
    "mean_b": 1.5,
    "ratings_a": [4, 3, 3],
    "ratings_b": [1, 2],
    "label": "A",
}
OPINION = {
    "domain": "Biology",
    "rater": "12",
    "q_id": "ro8",
    "question": "Why do bugs hide?",
    "answer_a": "From birds.",
    "answer_b": "It is damp.",
    "pair_type": "HHh[4][1]",
    "better": "A",
    "hard": "No.",
}
OUTPUTS = {"input": "Name a fish.", "output_1": "A cod.", "output_2": "A cow.", "label": 1}
RESPONSES = {
    "domain": "general",
    "language": "english",
    "context": [{"role": "user", "content": "Name a bird."}],
    "response1": "A bat.",
    "response2": "A gull.",
    "overall_preference": 2,
    "individual_preference": [{"score": 2, "reasoning": "Bats are no birds."}, {"score": 3, "reasoning": ""}],
}


def ranked(*rankings):
    """People's assessments: each ranks the completions for the world, and first as they like them."""
    return [
        {
            "annotator_id": f"a{n}",
            "ranking_blocks": {
                "personal": [{"ranking": "D>C>B>A", "rationale": "Mine."}],
                "world": [{"ranking": ranking, "rationale": "The world's."}],
                "unacceptable": [],
            },
        }
        for n, ranking in enumerate(rankings)
    ]


COMPLETIONS = {
    "prompt_id": "p1",
    "prompt": {"id": "c1", "messages": [{"role": "user", "content": "Is it right?"}]},
    "responses": [
        {"response_index": letter, "messages": [{"role": "assistant", "content": f"{letter} says so."}]}
        for letter in "ABCD"
    ],
    "metadata": {"assessments": ranked("A>B>C=D", "A=B>C>D", "B>A>D>C")},
}


def write_list(file, *rows):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(rows), encoding="utf-8")
    return file


def packed(file):
    """The file, packed as the hub hands it out."""
    there = file.with_name(f"{file.name}.gz")
    there.write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    return there
