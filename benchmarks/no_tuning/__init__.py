"""Learners that nobody tuned beside each other, on raw rows: `python -m benchmarks.no_tuning`."""
