"""Checkpoints and models of runs whose header was altered: refused by name, or without effect."""

import pytest
from benchmarks.altered import KINDS, Altered, alterations, places

SOME, ALL = 211, 1  # one of so many; all are some five thousand a kind, of three commands each


@pytest.mark.parametrize("share", [SOME, ALL])
@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_that_no_run_has_written_is_refused_or_without_effect(kind, share, tmp_path):
    altered, counts, at = Altered(tmp_path, kind), {}, len(kind)
    for name, header in altered.headers.items():
        for place in places(header):
            for what, other in alterations(header, place):
                at += 1
                if at % share == 0:
                    found, why = altered.outcome(name, place, other)
                    assert found in ("refused", "taken"), f"{name}: {what}: {found}: {why}"
                    counts[found] = counts.get(found, 0) + 1
    assert counts["refused"] > 10, counts


# What contradicts the rest of a checkpoint, each at a place of its own.
CONTRADICTIONS = [
    ("run.rows", 99),
    ("run.last.rows", 99),
    ("run.last.metrics.mistake_rate", 0.25),
    ("run.metrics.mistake_rate.n", 99),
    ("run.metrics.mistake_rate.total", "0x1.8000000000000p+4"),
    ("run.window.mistake_rate.n", 7),
    ("run.checkpoints.3.rows", 16),
    ("run.checkpoints.3.metrics", {}),
    ("run.digest", None),
    ("run.place", {"row": 3}),
    ("run.newcomers", [[7000, "new"]]),
    ("run.drift.due", True),
    ("run.drift.waiting", [[3, 1.0]]),
    ("run.drift.waiting", [[99, -1.0]]),
    ("run.drift.each", []),
    ("run.drift.each.0.n", -1),
    ("run.drift.each.0.means.list.0.float", "nan"),
    ("run.drift.each.0.detector.parts.clock", 5),
    ("survey.task.classes", ["no", "nay"]),
    ("survey.task.name", "multiclass"),
    ("survey.whole_numbers", True),
    ("survey.sparse", True),
    ("survey.grow_classes", True),
    ("asked", [1]),
    ("asked.seed", 1),
    ("algorithm.epsilon", 0.2),
    ("settled.epsilon", 0.2),
    ("n_seen", 100),
]


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    return Altered(tmp_path_factory.mktemp("watched"), "adwin")


@pytest.mark.parametrize(("place", "value"), CONTRADICTIONS, ids=lambda given: str(given)[:30])
def test_what_contradicts_the_rest_of_a_checkpoint_is_refused(watched, place, value):
    keys = tuple(int(key) if key.isdecimal() else key for key in place.split("."))
    found, why = watched.outcome("checkpoint", keys, watched.altered("checkpoint", keys, value))
    assert found == "refused" and watched.path.name in why
    said = (place, ".".join(place.split(".")[:2]), place.split(".")[-1], "detectors that River could not have left")
    assert any(word in why for word in said), why
