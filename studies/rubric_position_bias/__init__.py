"""Replication of "Am I More Pointwise or Pairwise? Position Bias in Rubric-Based LLM-as-a-Judge"."""
