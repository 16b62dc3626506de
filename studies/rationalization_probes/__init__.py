"""Replication of "Faithful or Fabricated? A Causal Framework for Rationalization Bias in LLM Judges"."""
