"""Statistics that every study uses: pure functions over arrays, no file access, no hidden randomness."""
