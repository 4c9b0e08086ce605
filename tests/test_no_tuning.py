"""What `python -m benchmarks.no_tuning` stands on: late labels, errors, probabilities, a page from any results."""

import json

import numpy as np
import pytest
from benchmarks.no_tuning import page
from benchmarks.no_tuning.errors import calibration_error, errors_of, log_loss, shares_loss
from benchmarks.no_tuning.measure import OVER_ALL, SECOND_HALF, Case, Results, cases, measured
from benchmarks.no_tuning.peers import PEERS, _one_by_one, no_change, ours, peer, tuned
from benchmarks.no_tuning.sets import CALIBRATED, DESIGN, SETS, Rows, rows_of, shown

from kernelstream import FOGD, Auto, Binary, Learner
from kernelstream.evaluate import prequential
from kernelstream.sources import ArraySource

SMALL = Auto(size="small")


def stream(n=300, *, regression=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] * X[:, 1] + 5.0
    return Rows(X, y if regression else np.where(y > 5.0, 1.0, -1.0), regression)


class Copying:
    """Answers with the newest label that it has learned, and notes what it was asked and told."""

    def __init__(self):
        self.newest, self.heard = None, []

    def predict(self, x):
        self.heard.append(("asked", x))
        return self.newest

    def learn(self, x, label):
        self.heard.append(("told", x))
        self.newest = label


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_no_change_is_what_a_peer_shows_that_copies_labels(delay):
    rows, copying = stream(20), Copying()
    shown = _one_by_one(copying.predict, copying.learn, list(range(20)), rows, delay)
    assert np.array_equal(shown, no_change(rows, delay, 0)().shown)
    asked, told = copying.heard.index(("asked", 10)), copying.heard.index(("told", 10 - delay))
    assert told == asked + 1, "the label of row t - delay comes right after row t has been predicted"


@pytest.mark.parametrize("delay", [0, 1, 40])
def test_ours_meets_late_labels_as_the_command_does(delay):
    rows = stream()
    shown = ours(FOGD(n_components=20), rows, delay, 3)().shown
    assert (shown[:delay] == -1).all()  # as others show where they know no label; the learner's scores are 0
    shown[:delay] = 1
    learner = Learner(FOGD(n_components=20), Binary([-1, 1]), seed=3)
    trace = prequential(learner, ArraySource(rows.X, rows.y, name="rows"), delay=delay)
    assert trace.last.metrics["mistake_rate"] == pytest.approx(np.mean(shown != rows.y))


def test_errors_leave_out_the_first_target_and_what_is_not_shown():
    y = np.array([3.0, 1.0, 3.0, 1.0, 3.0])
    shown = np.array([99.0, 1.0, 3.0, 3.0, 3.0])
    assert errors_of(shown, y, regression=True) == pytest.approx([1 / y.var(), 2 / y.var()])
    assert errors_of(shown, y, regression=False) == pytest.approx([0.4, 1 / 3])
    half = np.array([np.nan, np.nan, 3.0, 3.0, 3.0])
    assert np.isnan(errors_of(half, y, regression=False)[OVER_ALL])
    assert errors_of(half, y, regression=False)[SECOND_HALF] == pytest.approx(1 / 3)


def test_the_calibration_error_is_the_distance_between_what_is_said_and_what_comes():
    codes = np.arange(1000) % 10 > 0  # nine of ten are class 1
    said = np.column_stack([np.full(1000, 0.25), np.full(1000, 0.75)])
    assert calibration_error(said, codes) == pytest.approx(0.15)
    assert calibration_error(np.tile([0.1, 0.9], (1000, 1)), codes) == pytest.approx(0.0)
    mixed = np.where((np.arange(1000) < 500)[:, None], [0.02, 0.98], [0.18, 0.82])
    assert calibration_error(mixed, codes, bins=1) == pytest.approx(0.0, abs=1e-12)
    assert calibration_error(mixed, codes) == pytest.approx(0.08), "too much here does not make up for too little there"
    assert log_loss(np.tile([0.1, 0.9], (1000, 1)), codes.astype(int)) == pytest.approx(shares_loss(codes))


@pytest.mark.parametrize("name", CALIBRATED)
def test_probabilities_of_auto_can_be_believed(name, data_directory):
    rows = rows_of(name).first(3000)
    codes = np.unique(rows.y, return_inverse=True)[1]
    chances = ours(Auto(), rows, 0, 0)().chances[500:]
    assert log_loss(chances, codes[500:]) < 0.85 * shares_loss(codes[500:])
    assert calibration_error(chances, codes[500:]) < 0.05


def test_tuning_in_hindsight_takes_the_best_setting():
    rows = stream(400, regression=True)
    best = tuned(FOGD(n_components=30), rows, 0, 0)()
    assert best.setting.startswith("gamma ")
    worse = ours(FOGD(n_components=30), rows, 0, 0)().shown
    assert errors_of(best.shown, rows.y, regression=True)[0] < errors_of(worse, rows.y, regression=True)[0]


def test_every_case_has_rows_and_a_peer():
    wanted = list(cases())
    assert len(set(wanted)) == len(wanted)
    assert all(callable(peer(case.peer)) and case.set in SETS for case in wanted)
    late = {case.set for case in wanted if case.delay and case.peer == "auto"}
    for name in late | {name for name, chosen in SETS.items() if chosen.in_time}:
        delays = {case.delay for case in wanted if case.set == name and case.peer == "auto"}
        assert {(name, "no change", delay) for delay in delays} <= {case[:3] for case in wanted}
    assert {"auto", "fogd tuned", "nogd tuned", "svm", "lightgbm"} <= {c.peer for c in wanted if c.set == "bike"}
    assert set(PEERS) <= {case.peer for case in wanted}


def test_results_are_kept_as_they_come_and_the_page_shows_any_of_them(tmp_path, monkeypatch, data_directory):
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(page, "README", tmp_path / "README.md")
    (tmp_path / "README.md").write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")
    results, other = (Results(tmp_path / "results.json") for _ in range(2))
    page.write(results)
    results.keep(Case("housing", "no change"), measured(Case("housing", "no change")))
    other.keep(Case("housing", "fogd"), {"rows": 506, "features": 13, "stopped": "diverged"})
    assert len(json.loads((tmp_path / "results.json").read_text())) == 2, "what another process kept stays"
    again = Results(tmp_path / "results.json")
    for seed, error in enumerate((0.2, 0.4)):
        found = {"rows": 9, "features": 8, "seconds": 3.0, "errors": [error, None]}
        again.keep(Case("elec2 in time", "auto", seed=seed), found)
    assert again.error("elec2 in time", "auto", OVER_ALL) == pytest.approx(0.3)
    assert again.speed("elec2 in time", "auto") == pytest.approx(3.0)
    assert again.error("housing", "fogd", OVER_ALL) == np.inf
    page.write(again)
    text, readme = (tmp_path / "page.md").read_text(), (tmp_path / "README.md").read_text()
    assert "0.300" in text and "| `auto` | 0.300 | - |" in readme
    assert readme.startswith("before\n") and readme.endswith("after\n") and "old" not in readme
    assert all(f"| {shown(name)} |" in text for name in DESIGN)
