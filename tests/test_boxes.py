"""Boxes: what they cut, how their steps fall, and that auto is better for them."""

import numpy as np
import pytest

from kernelstream import Auto, Binary, Learner
from kernelstream.engine.files import read, write
from kernelstream.engine.state import ModelFileError
from kernelstream.numerics import boxes as boxing
from kernelstream.numerics.boxes import COLUMNS, EDGES, FULL, LEAST, STEP, draw_boxes, edges_of, fewer_places, no_boxes
from kernelstream.reference import auto as reference
from kernelstream.sources.datasets import open_dataset

TABLES, PLACES = 16, 64


def drawn(X, importances, n_outputs=2):
    boxes = no_boxes(X.shape[1], n_outputs, np.float64, TABLES, PLACES)
    boxes.edges[...] = edges_of(X)
    boxes.pick[...], boxes.offset[...] = draw_boxes(importances, TABLES, 3)
    return boxes


def learn(boxes, X, left, weight=1.0):
    room = np.zeros(TABLES, np.int32), np.zeros(left.shape[1])
    weights = np.full(len(X), weight)
    boxing.learn_rows_anew(boxes, boxing.finding(boxes), X, left, weights, *room)


@pytest.mark.parametrize("n", [64, 100, 700])
def test_compiled_equals_the_reference_on_columns_with_many_ties(n):
    rng = np.random.default_rng(n)
    X = np.column_stack([rng.integers(0, 2, n), rng.integers(0, 5, n), rng.normal(size=n), np.full(n, 7.0)])
    left = rng.normal(size=(n, 2))
    boxes = drawn(X, np.array([0.5, 0.3, 0.2, 0.0]))
    twin = reference.Boxes(boxes.pick, boxes.offset, boxes.edges.T, PLACES, 2)
    learn(boxes, X, left)
    for x, y in zip(X, left, strict=True):
        twin.learn(x, y)
    np.testing.assert_allclose(boxes.cells, twin.f, rtol=1e-12, atol=1e-14)
    assert np.array_equal(boxes.rows, np.minimum(twin.n, FULL))


def test_edges_are_values_of_rows_and_split_them_evenly():
    X = np.random.default_rng(0).normal(size=(6400, 3))
    edges = edges_of(X)
    assert edges.shape == (3, EDGES) and np.isin(edges, X).all() and (np.diff(edges) > 0).all()
    shares = np.diff([(X[:, 0] < edge).mean() for edge in edges[0]])
    np.testing.assert_allclose(shares, 1 / EDGES, rtol=0.01)


def test_columns_are_cut_as_often_as_they_matter_each_at_most_once_and_constant_ones_never():
    importances = np.r_[0.6, 0.3, np.full(18, 0.1 / 18), 0.0, 0.0]
    pick, offset = draw_boxes(importances, 4000, 0)
    assert [int((pick[:, r] >= 0).sum()) for r in (0, 1000, 2000, 3000)] == list(COLUMNS)
    assert all(len(set(used := column[column >= 0])) == len(used) for column in pick.T)
    counts = np.bincount(pick[:2, 3000:].ravel(), minlength=22)
    assert counts[0] > counts[1] > 3 * counts[2:20].max() and not counts[20:].any() and counts[2:20].all()
    assert offset.min() == 0 and offset.max() == boxing.RANKS - 1


def test_few_columns_are_all_cut_and_none_is_a_box_too():
    pick, _ = draw_boxes(np.array([0.4, 0.0, 0.6]), TABLES, 1)
    assert all(sorted(set(column)) == [-1, 0, 2] for column in pick.T)
    X = np.ones((70, 2))
    boxes = drawn(X, np.zeros(2))
    learn(boxes, X, np.ones((70, 2)))
    assert ((boxes.rows > 0).sum(axis=1) == 1).all()  # one box holds all
    assert boxes.cells.sum(axis=(0, 1)) == pytest.approx([1.0, 1.0])


def test_a_step_falls_as_a_box_fills_and_a_row_that_weighs_nothing_teaches_nothing():
    X, left = np.zeros((1, 2)), np.ones((1, 2))
    boxes = drawn(np.random.default_rng(0).normal(size=(64, 2)), np.array([0.5, 0.5]))
    learn(boxes, X, left, weight=0.0)
    assert not boxes.cells.any() and not boxes.rows.any()
    f = 0.0
    for n in (1, 2, 3):
        learn(boxes, X, left)
        f += STEP / np.sqrt(n) * (1.0 - f)
        assert boxes.cells.sum(axis=(0, 1)) == pytest.approx([f, f])
    learn(boxes, np.repeat(X, 3 * FULL, axis=0), np.ones((3 * FULL, 2)))
    assert boxes.rows.max() == FULL
    learn(boxes, X, 2 * left)
    assert boxes.cells.sum(axis=(0, 1)) == pytest.approx(2 * [1.0 + LEAST])


def test_with_fewer_places_those_that_fall_together_become_their_mean():
    X = np.random.default_rng(2).normal(size=(500, 3))
    boxes = drawn(X, np.full(3, 1 / 3))
    learn(boxes, X, np.sign(X[:, :2]))
    fewer = fewer_places(boxes, PLACES // 4)
    place = 5
    together = [place + k * PLACES // 4 for k in range(4)]
    np.testing.assert_allclose(fewer.cells[:, place], boxes.cells[:, together].mean(axis=1))
    assert np.array_equal(fewer.rows[:, place], boxes.rows[:, together].max(axis=1))


def test_auto_errs_less_for_its_boxes(data_directory, monkeypatch):
    X, y = next(iter(open_dataset("spambase", "fogd", block_rows=4601)))
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X.toarray()[order], y[order]

    def mistakes():
        scores = Learner(Auto(), Binary([-1, 1]), seed=0).learn(X, y)
        return (np.where(scores[:, 0] > 0, 1, -1) != y).mean()

    with_boxes = mistakes()
    monkeypatch.setattr("kernelstream.algorithms.auto.FIRST_BOXES", 1 << 40)
    assert with_boxes < 0.95 * mistakes()


@pytest.mark.parametrize(
    ("leaf", "value"),
    [("pick", 5), ("pick", -2), ("offset", -1), ("offset", boxing.RANKS), ("rows", FULL + 1), ("edges", np.nan)],
)
def test_a_file_with_boxes_that_no_run_leaves_is_refused(tmp_path, leaf, value):
    X = np.random.default_rng(0).normal(size=(80, 5))
    learner = Learner(Auto(size="small"), Binary([0, 1]), seed=0)
    learner.learn(X, X[:, 0] > 0)
    learner.save(tmp_path / "a.ks")
    header, arrays = read(tmp_path / "a.ks")
    arrays[f"model.boxes.{leaf}"].flat[0] = value
    write(tmp_path / "b.ks", header, arrays)
    with pytest.raises(ModelFileError, match=r"b\.ks"):
        Learner.load(tmp_path / "b.ks")


def test_a_file_whose_columns_stand_behind_none_is_refused(tmp_path):
    X = np.random.default_rng(0).normal(size=(80, 5))
    learner = Learner(Auto(size="small"), Binary([0, 1]), seed=0)
    learner.learn(X, X[:, 0] > 0)
    learner.save(tmp_path / "a.ks")
    header, arrays = read(tmp_path / "a.ks")
    arrays["model.boxes.pick"][0, 0] = -1
    write(tmp_path / "b.ks", header, arrays)
    with pytest.raises(ModelFileError, match="order that no run leaves"):
        Learner.load(tmp_path / "b.ks")
