"""A model that is handed on is the same model: by joblib, skops and MLflow, by the command, and with its card."""

import re

import numpy as np
import pytest
from typer.testing import CliRunner

from kernelstream import FOGD, Learner, OnlineKernelClassifier, OnlineKernelRegressor, Regression, load, to_onnx
from kernelstream.cli import app
from kernelstream.kernels import Gaussian
from kernelstream.report.cards import card


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "100"})


def rows(n=300, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")


@pytest.fixture(scope="module")
def clf():
    return OnlineKernelClassifier("fogd", n_components=24, gamma=0.3, scaling="online", random_state=0).fit(*rows())


def require_same(model, other):
    """Both say the same, and still do when both have learned more."""
    for one in (model, other):
        one.partial_fit(*rows(50, seed=1))
    X, _ = rows(100, seed=2)
    assert np.array_equal(model.decision_function(X), other.decision_function(X))
    assert np.array_equal(model.predict_proba(X), other.predict_proba(X))
    assert model.predict(X).tolist() == other.predict(X).tolist()


def test_joblib(clf, tmp_path):
    joblib = pytest.importorskip("joblib")
    joblib.dump(clf, tmp_path / "model.joblib")
    require_same(*(joblib.load(tmp_path / "model.joblib") for _ in range(2)))
    require_same(joblib.load(tmp_path / "model.joblib"), copied(clf, tmp_path))


def copied(clf, tmp_path):
    clf.save(tmp_path / "model.ks")
    return load(tmp_path / "model.ks")


def test_skops(clf, tmp_path):
    io = pytest.importorskip("skops.io", reason="pip install skops")
    io.dump(clf, tmp_path / "model.skops")
    strange = io.get_untrusted_types(file=tmp_path / "model.skops")
    assert all(name.startswith("kernelstream.") or name == "numpy.dtype" for name in strange)
    require_same(io.load(tmp_path / "model.skops", trusted=strange), copied(clf, tmp_path))


@pytest.mark.filterwarnings("ignore")  # MLflow's own
def test_mlflow(clf, tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="pip install mlflow-skinny")
    path = str(tmp_path / "model")
    mlflow.sklearn.save_model(clf, path, serialization_format="cloudpickle", pip_requirements=["kernelstream"])
    X, _ = rows(100, seed=2)
    assert mlflow.pyfunc.load_model(path).predict(X).tolist() == clf.predict(X).tolist()
    require_same(mlflow.sklearn.load_model(path), copied(clf, tmp_path))


@pytest.mark.filterwarnings("ignore")
def test_mlflow_takes_the_graph(clf, tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="pip install mlflow-skinny")
    pytest.importorskip("onnxruntime", reason="pip install 'kernelstream[onnx]' brings onnxruntime")
    mlflow.onnx.save_model(to_onnx(clf), str(tmp_path / "model"), pip_requirements=["onnxruntime"])
    X = rows(100, seed=2)[0].astype(np.float32)
    said = mlflow.pyfunc.load_model(str(tmp_path / "model")).predict(X)
    assert said["label"].tolist() == clf.predict(X).tolist()


# The command.


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A model that the command has learned and saved."""
    directory = tmp_path_factory.mktemp("saved")
    X, y = rows()
    lines = [",".join([*map(repr, x.tolist()), label]) for x, label in zip(X, y, strict=True)]
    (directory / "own.csv").write_text("\n".join(["width|,height,c_,d,kind", *lines]) + "\n")
    done = call("run", directory / "own.csv", "--algorithm", "rbp", "--set", "budget=20", "--save", directory / "m.ks")
    assert done.exit_code == 0, done.output
    return directory, float(re.search(r"([\d.]+) %", done.output)[1])


def test_the_command_writes_a_graph(saved, tmp_path):
    ort = pytest.importorskip("onnxruntime", reason="pip install 'kernelstream[onnx]' brings onnxruntime")
    directory, _ = saved
    done = call("export", directory / "m.ks", "--to", tmp_path / "m.onnx")
    assert done.exit_code == 0 and "m.onnx" in done.stderr
    X = rows(100, seed=2)[0].astype(np.float32)
    label = ort.InferenceSession(tmp_path / "m.onnx").run(["label"], {"X": X})[0]
    assert label.tolist() == Learner.load(directory / "m.ks").predict(X).tolist()


def test_what_is_no_place_for_a_graph_is_refused(saved):
    directory, _ = saved
    done = call("export", directory / "m.ks", "--to", directory / "m.txt")
    assert done.exit_code == 2 and ".onnx" in done.stderr
    done = call("export", directory / "m.ks", "--to", directory / "none" / "m.onnx")
    assert done.exit_code == 2 and not (directory / "none").exists()


# Cards.


def test_a_card_says_what_a_model_is_and_where_it_ends(saved, tmp_path):
    directory, mistakes = saved
    done = call("inspect", directory / "m.ks", "--card", tmp_path / "model.md")
    assert done.exit_code == 0 and "model.md" in done.stderr
    text = (tmp_path / "model.md").read_text()
    heads = ["# m.ks", "## What it is", "## On what it was trained", "## How far off it was", "## Limits"]
    assert [line for line in text.splitlines() if line.startswith("#")] == heads
    assert "- algorithm: rbp" in text and "- source: own\n" in text and "- rows: 300," in text
    assert r"- features: width\|, height, c\_, d" in text
    assert f"| mistake rate | {mistakes:.2f} % |" in text and "before it was learned" in text
    assert "holds some of the rows" in text and "rows of 4 features" in text


def test_a_card_is_not_written_over_its_model(saved):
    directory, _ = saved
    before = (directory / "m.ks").read_bytes()
    done = call("inspect", directory / "m.ks", "--card", directory / "m.ks")
    assert done.exit_code == 2 and "would be lost" in done.stderr
    assert (directory / "m.ks").read_bytes() == before


def test_a_card_says_what_is_not_known():
    X, _ = rows()
    learner = Learner(FOGD(kernel=Gaussian(gamma=0.3), n_components=24), Regression())
    learner.learn(X, X[:, 0])
    text = card("a", learner, {})
    assert text.count("not noted") + text.count("Not noted") == 2 and "| measure |" not in text
    assert "holds some of the rows" not in text and "classes" not in text
    for strange in (
        1,
        {},
        {"source": "x", "test": None, "metrics": [1]},
        {"source": 1, "test": 2, "metrics": {"a": "b"}},
    ):
        assert card("a", learner, {"judged": strange}) == text


def test_a_model_judged_by_other_rows_says_so(saved, tmp_path):
    directory, _ = saved
    done = call(
        "run", directory / "own.csv", "--test", directory / "own.csv", "--algorithm", "rbp", "--set", "budget=20",
        "--save", tmp_path / "t.ks",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    call("inspect", tmp_path / "t.ks", "--card", tmp_path / "t.md")
    assert "After learning, on rows of" in (tmp_path / "t.md").read_text()


def test_a_graph_of_a_model_of_several_targets(tmp_path):
    ort = pytest.importorskip("onnxruntime", reason="pip install 'kernelstream[onnx]' brings onnxruntime")
    X, _ = rows()
    model = OnlineKernelRegressor("fogd", n_components=24, gamma=0.3, random_state=0).fit(X, X[:, :2])
    model.save(tmp_path / "m.ks")
    assert call("export", tmp_path / "m.ks", "--to", tmp_path / "m.onnx").exit_code == 0
    X = X.astype(np.float32)
    said = ort.InferenceSession(tmp_path / "m.onnx").run(None, {"X": X})[0]
    assert np.abs(said - model.predict(X)).max() < 1e-5
