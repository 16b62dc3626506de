"""The project's bars, measured by ``make bench`` and never by a timed test."""
