"""The streams of benchmarks.drift are what their formulas say, and its page is what was measured."""

import numpy as np
import pytest
from benchmarks.drift.page import write
from benchmarks.drift.streams import DIGITS, THRESHOLDS, hyperplane, led, quarters, sea
from benchmarks.no_tuning.measure import Case, Results


@pytest.mark.parametrize("stream", [sea, hyperplane, led], ids=lambda stream: stream.__name__)
def test_a_stream_is_always_the_same(stream):
    one, again = stream(400), stream(400)
    assert np.array_equal(one.X, again.X) and np.array_equal(one.y, again.y) and not one.regression


def test_sea_has_a_threshold_in_each_quarter_and_one_label_in_ten_wrong():
    X, y, _ = sea(8000)
    for quarter, theta in enumerate(THRESHOLDS):
        rows = quarters(8000) == quarter
        wrong = np.mean((X[rows, 0] + X[rows, 1] <= theta) != y[rows])
        assert wrong == pytest.approx(0.1, abs=0.02)


def test_the_plane_moves():
    X, y, _ = hyperplane(20_000)
    early, late = (np.linalg.lstsq(X[rows] - 0.5, 2 * y[rows] - 1)[0] for rows in (slice(4000), slice(-4000, None)))
    cosine = early @ late / np.linalg.norm(early) / np.linalg.norm(late)
    assert cosine < 0.95 and 0.4 < y.mean() < 0.6


def test_segments_change_places_with_features_that_tell_nothing():
    X, y, _ = led(8000)
    agrees = [(X[quarters(8000) == q, :7] == DIGITS[y[quarters(8000) == q].astype(int)]).mean(axis=0) for q in range(4)]
    assert agrees[0] == pytest.approx(np.full(7, 0.9), abs=0.03)
    for quarter in range(1, 4):
        moved = agrees[quarter] < 0.7
        assert moved.tolist() == [j < 2 * quarter for j in range(7)]
    assert len(np.unique(DIGITS, axis=0)) == 10


def test_the_page_marks_the_least_error_and_has_a_dash_where_nothing_was_measured(tmp_path):
    results = Results(tmp_path / "drift.json")
    for peer, error in (("auto", 0.1), ("arf", 0.2)):
        results.keep(Case("sea", peer, most=100), {"rows": 100, "seconds": 0.5, "errors": [error, 0.3]})
    write(results, ("sea", "led"), ("auto", "arf"), 100, tmp_path / "drift.md")
    page = (tmp_path / "drift.md").read_text()
    assert "| sea | **0.1 / 0.3** | 0.2 / 0.3 |" in page and "| led | - | - |" in page
    assert "| sea | 200 | 200 |" in page and "theta = 8, 9, 7, 9.5" in page
