"""How much of what requests share is computed twice: prompt tokens computed over prompt tokens needed."""

from __future__ import annotations

from benchmarks import study
from benchmarks.result import Measured

DOCUMENTS = 1


def prefill_ratio(documents: int = DOCUMENTS) -> Measured:
    """Prompt tokens that the engine computed, over the nodes of the token trie of all requests.

    The trie's nodes are the least that any prefix cache must compute. What the engine computes to save
    a prefix is counted too. 1 means that nothing was computed twice.
    """
    run = study.asked(documents)
    nodes = trie_nodes(run.tokens)
    note = (
        f"{run.computed_tokens} tokens computed, {nodes} nodes, {sum(map(len, run.tokens))} tokens without "
        f"reuse; {len(run.requests)} requests about {documents} documents, from cold"
    )
    return Measured(run.computed_tokens / nodes, len(run.requests), note)


def trie_nodes(sequences: list[list[int]]) -> int:
    """Nodes of the trie of some sequences, its root not counted: how many distinct prefixes they have.

    >>> trie_nodes([[1, 2, 3], [1, 2, 4], [1, 2]])
    4
    """
    # In sorted order, what a sequence shares with any earlier one it shares with the one before it.
    nodes, before = 0, list[int]()
    for sequence in sorted(sequences):
        nodes += len(sequence) - _shared(before, sequence)
        before = sequence
    return nodes


def _shared(one: list[int], other: list[int]) -> int:
    """Length of the longest common prefix."""
    length = min(len(one), len(other))
    return next((i for i in range(length) if one[i] != other[i]), length)
