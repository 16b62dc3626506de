"""Engines: anything with ``async complete(request) -> Completion`` and a ``fingerprint``."""
