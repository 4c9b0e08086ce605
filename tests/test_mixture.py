"""Whatever learns fits the house: a user's mixture of learners is evaluated, merged, saved and resumed like one."""

import numpy as np

from kernelstream import FOGD, OGD, Binary, Learner
from kernelstream.engine import files
from kernelstream.evaluate import prequential
from kernelstream.kernels import Gaussian
from kernelstream.laws.examples import stream
from kernelstream.learner import OnlineLearner
from kernelstream.sources import ArraySource

GAUSSIAN = Gaussian(gamma=0.3)


class Mean:
    """The mean of several learners' scores."""

    name = "mean"

    def __init__(self, parts):
        self.parts = list(parts)

    task = property(lambda self: self.parts[0].task)
    seed = property(lambda self: self.parts[0].seed)
    spec = property(lambda self: self.parts[0].spec)
    n_seen = property(lambda self: self.parts[0].n_seen)
    size = property(lambda self: sum(part.size for part in self.parts))
    n_bytes = property(lambda self: sum(part.n_bytes for part in self.parts))
    is_settled = property(lambda self: all(part.is_settled for part in self.parts))

    def restart(self):
        for part in self.parts:
            part.restart()

    def warm_up(self, *, late=False):
        for part in self.parts:
            part.warm_up(late=late)

    def learn(self, X, y, sample_weight=None):
        return np.mean([part.learn(X, y, sample_weight) for part in self.parts], axis=0)

    def learn_late(self, X, y, shown):
        return np.mean([part.learn_late(X, y, shown) for part in self.parts], axis=0)

    def scores(self, X):
        return np.mean([part.scores(X) for part in self.parts], axis=0)

    def show(self, X):
        return np.mean([part.show(X) for part in self.parts], axis=0)

    def probabilities_of(self, scores):
        return self.parts[0].probabilities_of(scores)

    def merge(self, other):
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            mine.merge(theirs)
        return self

    def to_parts(self):
        made = [part.to_parts() for part in self.parts]
        header = {"parts": [part for part, _ in made]}
        return header, files.joined({str(i): arrays for i, (_, arrays) in enumerate(made)})

    @classmethod
    def from_parts(cls, header, arrays):
        return cls(Learner.from_parts(part, files.part(arrays, str(i))) for i, part in enumerate(header["parts"]))

    def save(self, path, **extra):
        header, arrays = self.to_parts()
        files.write(path, {**header, **extra}, arrays)


def mixture():
    specs = FOGD(kernel=GAUSSIAN, n_components=20), OGD(kernel=GAUSSIAN), FOGD(n_components=20)
    return Mean(Learner(spec, Binary([-1, 1])) for spec in specs)


def test_learners_and_mixtures_are_what_evaluation_takes():
    assert isinstance(mixture(), OnlineLearner) and isinstance(mixture().parts[0], OnlineLearner)
    assert not isinstance(object(), OnlineLearner)


def test_a_mixture_is_evaluated_also_with_late_labels():
    X, y = stream("binary", n=300)
    for delay in (0, 20):
        trace = prequential(mixture(), ArraySource(X, y, block_rows=64), delay=delay)
        assert (trace.algorithm, trace.last.rows) == ("mean", 300)
        assert delay > 0 or trace.last.size == mixture_size(X, y)
        assert trace.last.metrics["mistake_rate"] < 0.35


def mixture_size(X, y):
    learned = mixture()
    learned.learn(X, y)
    return learned.size


def test_mixtures_that_learned_apart_are_merged():
    X, y = stream("binary", n=80)
    left, right, parts = mixture(), mixture(), list(zip(mixture().parts, mixture().parts, strict=True))
    left.learn(X[:40], y[:40])
    right.learn(X[40:], y[40:])
    for one, other in parts:
        one.learn(X[:40], y[:40])
        other.learn(X[40:], y[40:])
    assert left.merge(right) is left
    assert np.array_equal(left.scores(X), np.mean([one.merge(other).scores(X) for one, other in parts], axis=0))
    assert left.n_seen == 80 and not left.is_settled


def test_a_mixture_begins_anew_where_a_drift_is_found():
    X, y = stream("binary", n=2000)
    y[1000:] *= -1
    trace = prequential(mixture(), ArraySource(X, y), drift="ddm", on_drift="restart")
    assert [drift.did for drift in trace.drifts] == ["restart"] * len(trace.drifts) and trace.drifts
    one = mixture()
    one.learn(X, y)
    assert one.is_settled
    one.restart()
    assert (one.n_seen, one.is_settled) == (0, False)


def test_a_mixture_goes_on_from_its_file_bit_for_bit(tmp_path):
    X, y = stream("binary", n=300)
    through = mixture()
    through.learn(X[:100], y[:100])
    through.save(tmp_path / "mean.ks", note="kept")
    header, arrays = files.read(tmp_path / "mean.ks")
    resumed = Mean.from_parts(header, arrays)
    assert header["note"] == "kept"
    assert np.array_equal(resumed.learn(X[100:], y[100:]), through.learn(X[100:], y[100:]))
