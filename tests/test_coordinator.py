"""Several workers: every row is learned once whoever is lost, and what comes out is what one worker would get.

The coordinator and the workers are the real ones; the cluster is in this process (`distributed.simulated`).
"""

import copy
import random

import numpy as np
import pytest
from benchmarks.merges import rows_of
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelstream import ALGORITHMS, Binary, Learner, Multiclass, Regression, make
from kernelstream.distributed.coordinator import Coordinator, Plan
from kernelstream.distributed.crew import Lost
from kernelstream.distributed.ledger import Ledger
from kernelstream.distributed.simulated import Costs, SimulatedCrew
from kernelstream.distributed.worker import Task, Unready, Worker
from kernelstream.kernels import Gaussian
from kernelstream.metrics import default_metrics
from kernelstream.sources import ArraySource, open_source
from kernelstream.sources.pieces import looked_at

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6000, 4))
Y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, 1.0, 0.0)


def pieces_of(X, y, n=13, block_rows=97):
    parts = np.array_split(np.arange(len(y)), n)
    return [ArraySource(X[some], y[some], name=f"piece {i}", block_rows=block_rows) for i, some in enumerate(parts)]


def trained(learner, X, y, workers, plan=None, *, pieces=None, costs=None, **crew):
    metrics = default_metrics(learner.task.name)
    pieces = pieces_of(X, y) if pieces is None else pieces
    plan = plan or Plan(200)
    made = SimulatedCrew(workers, costs or Costs(row=1e-6), **crew)
    coordinator = Coordinator(made, learner, pieces, metrics, plan, source=pieces[0], head=pieces[0])
    return coordinator.run(), coordinator


def fogd(task=None, **options):
    return Learner(
        make("fogd", kernel=Gaussian(0.5), n_components=64), task or Binary([0.0, 1.0]), threads=1, **options
    )


def ridge(**options):
    return Learner(
        make("ridge", kernel=Gaussian(0.5), n_components=64, solve="exact"), Binary([0.0, 1.0]), threads=1, **options
    )


def test_one_worker_is_the_plain_run_bit_for_bit():
    result, _ = trained(fogd(), X, Y, 1)
    plain = fogd()
    shown = plain.predict_learn(X, Y)
    np.testing.assert_array_equal(result.model.scores(X[:100]), plain.scores(X[:100]))
    assert result.trace.last.rows == len(Y)
    assert result.trace.last.metrics["mistake_rate"] == pytest.approx(np.mean(shown != Y), abs=1e-12)


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_statistics_that_add_up_give_the_model_of_one_worker(workers):
    result, _ = trained(ridge(), X, Y, workers)
    one = ridge()
    one.learn(X, Y)
    assert result.model.n_seen == len(Y)
    np.testing.assert_allclose(result.model.scores(X[:500]), one.scores(X[:500]), atol=2e-4)


@pytest.mark.parametrize("seed", range(6))
def test_every_row_counts_once_whoever_is_lost_and_when(seed):
    chance = random.Random(seed)
    result, coordinator = trained(ridge(), X, Y, 4, lose=lambda worker, method: chance.random() < 0.05)
    one = ridge()
    one.learn(X, Y)
    assert sum(record.lost for record in result.workers) > 5
    assert result.model.n_seen == result.trace.last.rows == coordinator.cumulative[0].n == len(Y)
    assert sum(record.rows for record in result.workers) == len(Y)
    np.testing.assert_allclose(result.model.scores(X[:500]), one.scores(X[:500]), atol=2e-4)


def test_a_worker_that_is_slow_to_come_back_adopts_the_newest_model():
    chance = random.Random(1)
    slow = Costs(row=1e-7, call=1e-7, bandwidth=1e6)  # adopting takes longer than a round
    result, _ = trained(
        ridge(),
        X,
        Y,
        4,
        costs=slow,
        speeds=[1, 1, 1, 0.02],
        lose=lambda worker, method: worker == 3 and chance.random() < 0.2,
    )
    one = ridge()
    one.learn(X, Y)
    assert result.workers[3].lost > 0 and result.model.n_seen == len(Y)
    np.testing.assert_allclose(result.model.scores(X[:500]), one.scores(X[:500]), atol=2e-4)


def test_what_a_worker_has_begun_that_stays_away_others_finish():
    class Away(SimulatedCrew):
        def ask(self, worker, method, *arguments):
            if worker == 1 and method == "adopt" and self.clock() > 0.002:
                return  # and is never answered
            super().ask(worker, method, *arguments)

    pieces, metrics = pieces_of(X, Y, 2), default_metrics("binary")
    crew = Away(2, Costs(row=1e-6, call=1e-5))
    coordinator = Coordinator(crew, ridge(), pieces, metrics, Plan(500), source=pieces[0], head=pieces[0])
    assert coordinator.run().trace.last.rows == len(Y)
    assert 0 < coordinator.result.workers[1].rows < len(Y) / 2


def test_rows_of_a_merged_model_that_is_lost_after_it_was_handed_out_count_once():
    class Forgetful(SimulatedCrew):
        fetches = 0

        def fetched(self, reference):
            self.fetches += 1
            return Lost("") if self.fetches % 3 == 0 else super().fetched(reference)

    pieces, metrics = pieces_of(X, Y), default_metrics("binary")
    crew = Forgetful(3, Costs(row=1e-6))
    coordinator = Coordinator(crew, ridge(), pieces, metrics, Plan(200), source=pieces[0], head=pieces[0])
    result = coordinator.run()
    one = ridge()
    one.learn(X, Y)
    assert crew.fetches > 6 and result.model.n_seen == result.trace.last.rows == coordinator.cumulative[0].n == len(Y)
    np.testing.assert_allclose(result.model.scores(X[:500]), one.scores(X[:500]), atol=2e-4)


def test_calls_are_half_of_a_share_of_what_is_left_and_no_shorter_than_pays():
    plan = Plan()
    assert plan.step(10_000, 5000, 2, speed=0.0) == 2500
    assert plan.step(400, 5000, 2, speed=0.0) == 256  # nobody knows how fast it is
    assert plan.step(10_000, 5000, 2, speed=1e6) == 5000  # all of its share: more takes no time
    assert plan.step(10_000, 5000, 2, speed=1e3) == 2500
    assert plan.step(40, 5000, 2, speed=1e3) == 10
    assert plan.step(7, 5000, 2, speed=1e3) == 7
    assert plan.step(5000, 5000, 1, speed=1e3) == 5000  # nobody else waits


def test_a_worker_has_read_first_rows_before_it_is_asked_for_more():
    piece = pieces_of(X, Y)[0]
    read = []

    class Read(ArraySource):
        def __iter__(self):
            for block in super().__iter__():
                read.append(len(block[1]))
                yield block

    worker = Worker()
    for _ in range(2):
        worker.adopt(Task(default_metrics("binary"), Read(piece.X, piece.y, block_rows=50)), ridge().to_parts())
    assert read == [50]


def test_workers_that_are_faster_learn_more():
    result, _ = trained(
        fogd(), X, Y, 3, Plan(400), pieces=pieces_of(X, Y, 40), speeds=[1.0, 1.0, 4.0], costs=Costs(row=1e-4, call=1e-4)
    )
    rows = [record.rows for record in result.workers]
    assert rows[2] > 1.5 * max(rows[:2])


@pytest.mark.parametrize("workers", [1, 3])
def test_classes_that_come_on_the_way_are_known_to_all(workers):
    y = np.select([X[:, 0] > 0.5, X[:, 1] > 0.5], ["a", "b"], "c")
    order = np.argsort(y == "a", kind="stable")  # the third class comes in the last pieces only
    result, _ = trained(
        fogd(Multiclass(["b", "c"]), grow_classes=True),
        X[order],
        y[order],
        workers,
        pieces=pieces_of(X[order], y[order]),
    )
    assert result.model.task.classes.tolist() == ["b", "c", "a"]
    assert result.model.n_seen == len(y)
    assert np.mean(result.model.predict(X) == y) > 0.6


def test_what_first_rows_settle_one_worker_settles():
    learner = Learner(make("fogd", n_components=64), Binary([0.0, 1.0]), threads=1)  # its width waits for 256 rows
    result, _ = trained(learner, X, Y, 4)
    plain = Learner(make("fogd", n_components=64), Binary([0.0, 1.0]), threads=1)
    plain.learn(X[:300], Y[:300])
    assert result.model.settled.kernel == plain.settled.kernel
    assert result.model.n_seen == len(Y)


@pytest.mark.parametrize("name", ["fogd", "nogd", "ridge"])
def test_several_workers_err_hardly_more_than_one(name, data_directory):
    X, y, task = rows_of("cod-rna", 10_000)
    errors = []
    for workers in (1, 2, 8):
        learner = Learner(make(name, kernel=Gaussian(1.0 / X.shape[1])), task(), threads=1)
        result, _ = trained(learner, X, y, workers, Plan())
        errors.append(result.trace.last.metrics["mistake_rate"])
        assert result.model.n_seen == len(y)
    assert max(errors) <= 1.05 * errors[0]


def test_rows_that_workers_left_out_are_said_and_counted_once_whoever_is_lost(tmp_path):
    rows = [f"{a:.3f},{b:.3f},{y:g}" for (a, b), y in zip(X[:, :2], Y, strict=True)]
    rows[2500::10] = ["oops,1,1"] * len(rows[2500::10])
    rows[2501::10] = ["0,1,"] * len(rows[2501::10])
    rows[2502::10] = [",1,0"] * len(rows[2502::10])
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,y", *rows, ""]))
    source = open_source(tmp_path / "rows.csv", on_error="skip")
    head = looked_at(source)[0]
    pieces = [copy.copy(head) for _ in range(3)]
    ends = np.linspace(0, head.n_bytes, 4).astype(int).tolist()
    for piece, start, stop in zip(pieces, ends[:-1], ends[1:], strict=True):
        piece.span, piece.header, piece.label = (start, stop), start == 0, 2
    draw = random.Random(0)
    learner = fogd(grow_features=True)
    metrics = default_metrics("binary")
    crew = SimulatedCrew(2, Costs(row=1e-6), lose=lambda worker, method: draw.random() < 0.1)
    result = Coordinator(crew, learner, pieces, metrics, Plan(100), source=source, head=head).run()
    assert result.skipped == 700 and result.trace.last.rows == len(Y) - 700
    left_out, unlabelled, missing = sorted(result.notices, key=lambda notice: notice[:3])
    assert left_out.startswith("350 rows could not be read") and "behind byte" in left_out
    assert unlabelled.startswith("350 rows have no 'y'") and missing.startswith("350 values are missing")


def test_who_learns_alone_takes_up_what_the_one_before_had_begun():
    some = slice(0, 1800)
    slow = {"speeds": [0.1, 1.0], "costs": Costs(row=1e-5, bandwidth=1e9)}  # the second is back first
    learner = Learner("rbp", Binary([0.0, 1.0]), threads=1)
    pieces = pieces_of(X[some], Y[some], n=4)
    result, _ = trained(learner, X[some], Y[some], 2, Plan(), pieces=pieces, **slow)
    assert result.model.n_seen == 1800
    assert min(worker.rows for worker in result.workers) > 0


def test_who_says_how_often_is_not_made_to_wait_for_one():
    result, _ = trained(fogd(), X, Y, 4, Plan(every=100))
    assert min(record.rows for record in result.workers) > 100


def test_models_that_stay_together_are_not_synchronised():
    counts = {}
    for apart in (1e-9, 3.0, 1e9):
        result, _ = trained(fogd(), X, Y, 3, Plan(100, apart))
        counts[apart] = len(result.synchronisations)
        assert result.model.n_seen == len(Y)
        assert all(one.bytes > 0 for one in result.synchronisations)
        if apart == 3.0:
            assert all(one.moved > 3.0 for one in result.synchronisations[1:-1])
    assert counts[1e-9] > counts[3.0] > counts[1e9]


def test_a_regression_is_trained_too():
    y = np.sin(X[:, 0]) + 0.1 * X[:, 1]
    result, _ = trained(fogd(Regression()), X, y, 3)
    assert result.trace.last.metrics["rmse"] < 0.8 * y.std()


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in ("auto", "stack", "tvm", "rrf")])
def test_every_learner_that_merges_is_trained(name):
    sizes = {"budget": 40} if hasattr(ALGORITHMS[name], "budget") else {}
    spec = make(name, kernel=Gaussian(0.5), **sizes)
    rows, labels = X[:1500], Y[:1500]
    result, _ = trained(Learner(spec, Binary([0.0, 1.0]), threads=1), rows, labels, 3, Plan(100))
    assert result.model.n_seen == len(labels)
    shown = result.model.predict(X[3000:])
    if spec.without_labels:
        assert np.mean(shown == 0.0) == pytest.approx(spec.nu, abs=0.05)
    else:
        assert np.mean(shown != Y[3000:]) < 0.4  # a constant errs in half of them


def test_what_a_state_says_is_gone_on_from():
    learner, metrics, pieces = ridge(), default_metrics("binary"), pieces_of(X, Y)

    class Enough(Exception):
        pass

    kept = {}

    def stop(coordinator):
        kept.update(state=coordinator.state(), model=coordinator.result.model.snapshot())
        if coordinator.ledger.rows > 3000:
            raise Enough

    def crew():
        return SimulatedCrew(3, Costs(row=1e-6))

    with pytest.raises(Enough):
        Coordinator(crew(), learner, pieces, metrics, Plan(200), source=pieces[0], head=pieces[0], on_round=stop).run()
    again = Coordinator(crew(), kept["model"], pieces, metrics, Plan(200), source=pieces[0], head=pieces[0])
    again.restore(kept["state"])
    result = again.run()
    one = ridge()
    one.learn(X, Y)
    assert result.model.n_seen == result.trace.last.rows == again.cumulative[0].n == len(Y)
    np.testing.assert_allclose(result.model.scores(X[:500]), one.scores(X[:500]), atol=2e-4)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_ledger_hands_out_every_row_until_it_is_kept(data):
    lengths = data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=6))
    ledger, workers = Ledger(len(lengths)), range(3)
    kept = [0] * len(lengths)
    ahead = {worker: {} for worker in workers}
    for _ in range(400):
        worker = data.draw(st.sampled_from(list(workers)))
        action = data.draw(st.sampled_from(["learn", "learn", "learn", "keep", "lose"]))
        if action == "learn" and (work := ledger.take(worker)) is not None:
            assert work.skip == ahead[worker].get(work.piece, kept[work.piece])
            rows = min(data.draw(st.integers(1, 4)), lengths[work.piece] - work.skip)
            ahead[worker][work.piece] = work.skip + rows
            ledger.note(worker, work, rows, ended=work.skip + rows == lengths[work.piece])
        elif action == "lose":
            ledger.give_back(worker)
            ahead[worker] = {}
        elif action == "keep":
            ledger.keep(workers)
            for mine in ahead.values():
                for piece, rows in mine.items():
                    kept[piece] = rows
                mine.clear()
            other = Ledger(len(lengths))
            other.restore(ledger.state())
            assert other.rows == ledger.rows == sum(kept)
    for worker in workers:
        while (work := ledger.take(worker)) is not None:
            ledger.note(worker, work, lengths[work.piece] - work.skip, ended=True)
    ledger.keep(workers)
    assert ledger.over and ledger.rows == sum(lengths)


@pytest.mark.parametrize(
    "ask", [Worker.give, lambda worker: worker.merged(None), lambda worker: worker.learn(None, None, 1)]
)
def test_a_worker_that_came_back_without_a_model_says_so(ask):
    with pytest.raises(Unready, match="has no model yet"):
        ask(Worker())
