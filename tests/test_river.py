"""The River face: River's own checks, the bits of a learner, and its place in pipelines and evaluation."""

import pickle
import random

import numpy as np
import pandas as pd
import pytest
from river import checks, compose, datasets, ensemble, evaluate, linear_model, metrics, preprocessing

from kernelstream import ALGORITHMS, FOGD, NOGD, NORMA, RBP, TVM, Binary, Learner, Multiclass, Regression, Ridge, make
from kernelstream.encoding import Columns
from kernelstream.kernels import Gaussian
from kernelstream.laws.agreement import snapshot
from kernelstream.river import KernelAnomalyDetector, KernelClassifier, KernelRegressor
from timing import times_as_fast

GAUSSIAN = Gaussian(gamma=0.3)
SMALL = Ridge(kernel=GAUSSIAN, n_components=20)


class Oddities:
    """In place of the payments by card on which River checks detectors, and which it would fetch: every 50th is odd."""

    def take(self, n):
        draw = random.Random(0)
        for t in range(min(n, 300)):
            odd = t % 50 == 49
            yield {name: draw.gauss(8.0 if odd else 0.0, 1.0) for name in ("V1", "V2", "Amount")}, int(odd)


def checked(model, *, once=False):
    """Checks of a model on all of their streams, or on the first one each."""
    found = {}
    for n, check in enumerate(checks.yield_checks(model)):
        found.setdefault(check.__name__ if once else n, check)
    name = model.algorithm if isinstance(model.algorithm, str) else model.algorithm.name
    return [pytest.param(model, check, id=f"{model}-{name}-{n}-{check.__name__}") for n, check in found.items()]


with pytest.MonkeyPatch.context() as patch:
    patch.setattr(datasets, "CreditCard", Oddities)
    DETECTORS = [*checked(KernelAnomalyDetector()), *checked(KernelAnomalyDetector(NORMA(loss="novelty")), once=True)]

SMALLER = {"budget": 10, "n_components": 20, "rank": 5}


def small(name):
    """A learner of that name with one width and few points or features."""
    spec = make(name)
    sizes = {size: value for size, value in SMALLER.items() if hasattr(spec, size)}
    return make(name, **sizes, **({"kernel": GAUSSIAN} if hasattr(spec, "kernel") else {}))


# `auto` takes a second to settle on a stream.
CHECKED = [
    *checked(KernelClassifier(SMALL)),
    *checked(KernelRegressor(SMALL)),
    *checked(KernelClassifier(), once=True),
    *checked(KernelRegressor(), once=True),
    *checked(KernelClassifier(SMALL, drift="page-hinkley:threshold=3", on_drift="forget:100"), once=True),
    *checked(KernelRegressor(SMALL, drift=["adwin", "kswin"], on_drift="restart"), once=True),
    *checked(KernelClassifier(TVM(kernel=GAUSSIAN, budget=10)), once=True),  # of two classes alone
    *DETECTORS,
]
OTHERS = [name for name in ALGORITHMS if name not in ("auto", "ridge") and not make(name).without_labels]


@pytest.mark.parametrize(("model", "check"), CHECKED)
def test_a_check_of_river_passes(model, check):
    assert model._unit_test_skips() == set()
    check(model.clone())


@pytest.mark.parametrize("name", OTHERS)
def test_every_learner_passes_the_checks_of_river(name):
    spec = small(name)
    models = [KernelClassifier(spec)] if "binary" in spec.tasks else []
    for model in [*models, *([KernelRegressor(spec)] if "regression" in spec.tasks else [])]:
        for param in checked(model, once=True):
            param.values[1](model.clone())


def stream(n=300, width=5):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, width))
    rows = [{f"f{j}": value for j, value in enumerate(row)} for row in X.tolist()]
    values = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, rows, values


SPECS = [
    FOGD(kernel=GAUSSIAN, n_components=30),
    NOGD(kernel=GAUSSIAN, budget=20, rank=5),  # its map is made on the way
    RBP(kernel=GAUSSIAN, budget=10),
    FOGD(n_components=30),  # its width is settled on the way
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_rows_have_the_bits_of_a_block(spec):
    _, rows, values = stream()
    faces = [(KernelClassifier(spec, seed=3), Binary([False, True]), (values > 0).tolist())]
    if "regression" in spec.tasks:
        faces.append((KernelRegressor(spec, seed=3), Regression(), values.tolist()))
    for model, task, labels in faces:
        block = Learner(
            spec,
            task,
            seed=3,
            grow_features=True,
            grow_classes=not isinstance(task, Regression),
            columns=Columns(missing="zero"),
        )
        shown = task.decode(block.learn(rows, labels))
        for t, (row, label) in enumerate(zip(rows, labels, strict=True)):
            if t > 0:
                assert model.predict_one(row) == shown[t]
            model.learn_one(row, label)
            assert model.learner.losses[0] == block.losses[t]
        assert snapshot(model.learner) == snapshot(block)


WORDS = [
    ({"size": 1.0, "colour": "red"}, "a"),
    ({"size": -1.0, "colour": "blue", "late": 2.0}, "b"),
    ({"colour": "green"}, "a"),
    ({"size": 0.5, "colour": "red", "late": None}, "c"),
    ({}, "b"),
    ({"size": 0.25, "colour": "blue", "late": -1.0}, "a"),
] * 4


@pytest.mark.parametrize("options", [{}, {"categorical": "hash", "hash_features": 8}, {"missing": "mean"}], ids=str)
def test_names_words_and_classes_come_and_go(options):
    one, many = (KernelClassifier(SMALL, seed=0, **options) for _ in range(2))
    for row, label in WORDS:
        one.learn_one(row, label)
    for start in range(0, len(WORDS), 7):
        rows, labels = zip(*WORDS[start : start + 7], strict=True)
        many.learn_many(pd.DataFrame(list(rows)), pd.Series(labels))
    assert snapshot(one.learner) == snapshot(many.learner)
    assert one.learner.columns.to_json() == many.learner.columns.to_json()
    assert set(one.predict_proba_one({"size": 1.0})) == {"a", "b", "c"}
    table = pd.DataFrame([row for row, _ in WORDS], index=range(100, 100 + len(WORDS)))
    shown, chances = one.predict_many(table), one.predict_proba_many(table)
    assert shown.index.equals(table.index) and chances.index.equals(table.index)
    assert shown.tolist() == [one.predict_one(row) for row, _ in WORDS]
    assert chances.to_dict("records") == [one.predict_proba_one(row) for row, _ in WORDS]


def test_a_model_that_has_seen_nothing_or_one_class_says_so():
    model = KernelClassifier(SMALL)
    assert model.predict_one({"a": 1.0}) is None and model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_many(pd.DataFrame({"a": [1.0]})).tolist() == [None]
    assert model.predict_proba_many(pd.DataFrame({"a": [1.0]})).shape == (1, 0)
    assert KernelRegressor(SMALL).predict_one({"a": 1.0}) == 0.0
    with pytest.raises(ValueError, match="The table has no rows"):
        model.learn_many(pd.DataFrame({"a": []}), pd.Series([], dtype=object))
    model.learn_one({"a": 1.0}, "x")
    assert model.predict_one({"a": 1.0}) == "x" and model.predict_proba_one({"b": 1.0}) == {"x": 1.0}


def test_truth_values_and_announced_classes_are_two_from_the_first_row_on():
    for model, label, classes in (
        (KernelClassifier(SMALL), np.bool_(True), [False, True]),
        (KernelClassifier(SMALL, classes=["no", "yes"]), "yes", ["no", "yes"]),
    ):
        model.learn_one({"a": 1.0, "b": 2.0}, label)
        assert isinstance(model.learner.task, Binary) and list(model.predict_proba_one({"a": 1.0})) == classes
        assert type(model.predict_one({"a": 1.0})) is type(classes[0])
    model.learn_one({"a": 1.0}, "perhaps")
    assert isinstance(model.learner.task, Multiclass)


@pytest.mark.parametrize(("known", "other"), [([True, False], "x"), ([1, 2], "x"), (["a", "b"], 1), (["a"], None)])
def test_labels_keep_their_type(known, other):
    model = KernelClassifier(SMALL)
    for label in known:
        model.learn_one({"a": 1.0}, label)
    with pytest.raises(ValueError, match=r"all numbers, all truth values or all words|the label is None"):
        model.learn_one({"a": 1.0}, other)
    model.learn_one({"a": 1.0}, known[0])
    assert type(model.predict_one({"a": 1.0})) is type(known[0]) and set(model.learner.task.classes) == set(known)


def test_a_learner_of_margins_of_two_classes_takes_part_and_has_chances():
    model = KernelClassifier(TVM(kernel=GAUSSIAN, budget=10))
    assert not model._multiclass
    _, rows, values = stream(60)
    score = evaluate.progressive_val_score(zip(rows, (values > 0).tolist(), strict=True), model, metrics.Accuracy())
    assert score.get() > 0.5
    many = KernelClassifier(TVM(kernel=GAUSSIAN, budget=10))
    many.learn_many(pd.DataFrame(rows), values > 0)
    chances = many.predict_proba_many(pd.DataFrame(rows))
    assert chances.to_dict("records") == [model.predict_proba_one(row) for row in rows]


TWO = [name for name in OTHERS if "multiclass" not in make(name).tasks and "binary" in make(name).tasks]


@pytest.mark.parametrize("name", TWO)
def test_who_learns_two_classes_alone_knows_them_before_any_row(name):
    table = pd.DataFrame({"a": [1.0, 2.0]})
    for classes, expected in ((None, {False: 0.5, True: 0.5}), (["no", "yes"], {"no": 0.5, "yes": 0.5})):
        model = KernelClassifier(small(name), classes=classes)
        assert model.predict_proba_one({"a": 1.0}) == expected
        assert model.predict_proba_many(table).to_dict("records") == [expected] * 2
        model.learn_one({"a": 1.0}, list(expected)[1])
        assert model.predict_proba_one({"a": 1.0}).keys() == expected.keys()
    model = KernelClassifier(small(name))
    with pytest.raises(ValueError, match=rf"{name} learns two classes.*classes=\['x', ...\]"):
        model.learn_one({"a": 1.0}, "x")
    assert model.learner is None
    with pytest.raises(ValueError, match=rf"{name} does not do multiclass; it does .*auto, fogd and most others"):
        KernelClassifier(small(name), classes=["a", "b", "c"]).learn_one({"a": 1.0}, "a")


def test_it_stands_in_pipelines_ensembles_and_progressive_validation():
    kernel = compose.Pipeline(preprocessing.StandardScaler(), KernelClassifier(SMALL, seed=1))
    bagged = ensemble.BaggingClassifier(KernelClassifier(SMALL, seed=1), n_models=3, seed=1)
    linear = compose.Pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression())
    _, rows, values = stream(600)
    labels = (values > 0).tolist()
    found = [
        evaluate.progressive_val_score(zip(rows, labels, strict=True), model, metrics.ROCAUC()).get()
        for model in (kernel, bagged, linear)
    ]
    assert min(found[:2]) > found[2] + 0.05
    values = evaluate.progressive_val_score(
        zip(rows, values.tolist(), strict=True),
        preprocessing.StandardScaler() | KernelRegressor(SMALL, seed=1),
        metrics.R2(),
    )
    assert values.get() > 0.2


def test_a_weight_is_how_much_a_row_counts():
    X, rows, values = stream(60)
    one, plain = (KernelRegressor(SPECS[0], seed=0) for _ in range(2))
    expected = Learner(SPECS[0], Regression(), seed=0)
    expected.learn(X, values, np.arange(60) % 3)
    for t, (row, value) in enumerate(zip(rows, values, strict=True)):
        one.learn_one(row, value, w=t % 3)
        plain.learn_one(row, value)
    assert np.array_equal(one.learner.scores(X), expected.scores(X))
    assert not np.array_equal(plain.learner.scores(X), expected.scores(X))
    with pytest.raises(ValueError, match="sample weight -1"):
        one.learn_one(rows[0], 1.0, w=-1.0)


def test_a_row_that_cannot_be_learned_changes_nothing():
    _, rows, values = stream(40)
    model = KernelRegressor(SPECS[0], seed=0)
    model.learn_many(pd.DataFrame(rows), pd.Series(values))
    model.learn_one(rows[0], 1.0)
    before, columns = snapshot(model.learner), model.learner.columns.to_json()
    for row, target in (
        ({**rows[0], "f1": float("inf"), "new": 1.0}, 1.0),
        ({**rows[0], "f1": 1e16}, 1.0),
        ({**rows[0], "new": "word"}, "word"),
        (rows[0], float("nan")),
        ({**rows[0], "f1": 3j}, 1.0),
    ):
        with pytest.raises(ValueError):
            model.learn_one(row, target)
        assert snapshot(model.learner) == before and model.learner.columns.to_json() == columns


def test_it_goes_on_from_a_pickle_and_from_a_file(tmp_path):
    _, rows, values = stream(80)
    model = KernelRegressor(SPECS[0], seed=0)
    for row, value in zip(rows[:40], values[:40], strict=True):
        model.learn_one({**row, "word": "x" if value > 0 else "y"}, value)
    again = pickle.loads(pickle.dumps(model))
    model.save(tmp_path / "m.ks")
    loaded = Learner.load(tmp_path / "m.ks")
    for row, value in zip(rows[40:], values[40:], strict=True):
        row = {**row, "word": "z" if value > 0 else "y"}
        assert model.predict_one(row) == again.predict_one(row) == loaded.predict([row])[0]
        model.learn_one(row, value)
        again.learn_one(row, value)
        loaded.learn([row], [value])
    assert snapshot(model.learner) == snapshot(again.learner) == snapshot(loaded)
    with pytest.raises(ValueError, match="No row was learned"):
        KernelRegressor(SMALL).save(tmp_path / "n.ks")


def test_a_copy_with_all_that_was_learned_goes_its_own_way():
    _, rows, values = stream(60)
    model = KernelClassifier(SPECS[0], seed=0)
    for row, value in zip(rows[:40], values[:40], strict=True):
        model.learn_one(row, bool(value > 0))
    other, before = model.clone(include_attributes=True), snapshot(model.learner)
    assert other.predict_one(rows[50]) == model.predict_one(rows[50])
    for row in rows[40:]:
        other.learn_one(row, True)
    assert other.learner.n_seen == 60 and snapshot(model.learner) == before


def test_a_learner_that_was_changed_meanwhile_is_the_one_that_predicts():
    _, rows, values = stream(40)
    model, other = KernelRegressor(SPECS[0], seed=0), KernelRegressor(SPECS[0], seed=0)
    for row, value in zip(rows, values, strict=True):
        model.learn_one(row, value)
        other.learn_one(row, -value)
    model.predict_one(rows[0])
    model.learner.merge(other.learner)
    assert model.predict_one(rows[0]) == model.learner.predict([rows[0]])[0]
    assert abs(model.predict_one(rows[0])) < 1e-6


@pytest.mark.parametrize("spec", SPECS[:3], ids=str)
def test_what_was_computed_for_a_prediction_serves_that_row_and_that_model_alone(spec):
    _, rows, values = stream(120)
    labels = (values > 0).tolist()
    asked, plain = (KernelClassifier(spec, seed=0) for _ in range(2))
    for t, (row, label) in enumerate(zip(rows, labels, strict=True)):
        asked.predict_one(rows[t - 1] if t % 7 == 1 else row)
        if t % 7 == 2:  # another row is learned in between, past the model
            for model in (asked, plain):
                if model.learner is not None:
                    model.learner.learn([rows[t - 1]], [not labels[t - 1]])
        elif t % 7 == 3:
            row["f1"] += 1.0
        elif t % 7 == 4:
            asked.predict_one({**row, "f1": "word"})
        elif t % 7 == 5:
            asked.predict_proba_one(rows[0])
            asked.predict_one(row)
            with pytest.raises(ValueError):
                asked.learn_one(row, label, w=-1.0)
        for model in (asked, plain):
            model.learn_one(row, label)
        assert asked.learner.losses[0] == plain.learner.losses[0]
    assert snapshot(asked.learner) == snapshot(plain.learner)


@pytest.mark.parametrize("spec", [RBP(kernel=GAUSSIAN, budget=200), FOGD(kernel=GAUSSIAN, n_components=100)], ids=str)
def test_a_table_is_learned_at_the_speed_of_a_block(spec):
    X, rows, values = stream(1000, 10)
    table, labels = pd.DataFrame(rows), pd.Series(values > 0)
    many, block = KernelClassifier(spec, seed=0, threads=1), Learner(spec, Binary([False, True]), threads=1)
    y = labels.to_numpy()
    ratio = times_as_fast(lambda: many.learn_many(table, labels), lambda: block.learn(X, y), 1 / 1.15, turns=200)
    assert ratio >= 1 / 1.15


def test_chances_of_a_table_have_the_classes_of_now_as_columns():
    _, rows, _ = stream(6)
    table, model = pd.DataFrame(rows), KernelClassifier(SMALL, seed=0)
    model.learn_many(table[:4], pd.Series(["b", "a", "b", "a"]))
    assert list(model.predict_proba_many(table).columns) == ["b", "a"]
    model.learn_many(table[4:], pd.Series(["a", "c"]))
    chances = model.predict_proba_many(table)
    assert list(chances.columns) == ["b", "a", "c"] and list(chances.index) == list(table.index)
    for row, found in zip(rows, chances.to_dict("records"), strict=True):
        assert found == pytest.approx(model.predict_proba_one(row), rel=1e-6)
