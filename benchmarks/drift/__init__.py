"""Streams that change, for learners that nobody tuned."""
