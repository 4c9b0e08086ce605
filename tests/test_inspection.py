"""Laws of what is shown of a model: true in words, and drawn in the units of the data."""

import numpy as np
import pytest
from matplotlib.image import imread

from kernelstream import Binary, Learner, Multiclass, Regression
from kernelstream.algorithms import FOGD, OGD, POLK, RRF
from kernelstream.report import inspection
from kernelstream.report.description import describe
from kernelstream.report.inspection import write_inspection
from kernelstream.report.plots import LIGHT
from kernelstream.sources import ArraySource, fit_scaling

QUADRANTS = Binary(["no", "yes"])


def plane(n=400):
    """Two features of very different units, and the quadrant's sign as a label."""
    X = np.random.default_rng(0).normal(size=(n, 2)) * [1.0, 100.0] + [5.0, -300.0]
    return X, np.where((X[:, 0] > 5.0) == (X[:, 1] > -300.0), "yes", "no")


def scaled(algorithm, task=QUADRANTS, labels=None):
    X, y = plane()
    y = y if labels is None else labels(X)
    scaling = fit_scaling(ArraySource(X, np.zeros(len(X))), "standard")
    learner = Learner(algorithm, task, scaling=scaling)
    learner.learn(X, y)
    return learner, X


def pixels(path):
    return imread(path)[:, :, :3]


def share_of(path, colour):
    """The share of pixels in a colour."""
    wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return float((np.abs(pixels(path) - wanted).max(axis=2) < 0.02).mean())


def test_a_description_says_what_is_in_a_model():
    learner, _ = scaled(POLK(parsimony=0.1))
    lines = describe(learner)
    size = learner.size
    assert lines["algorithm"] == "polk"
    assert (
        f"kernel.gamma={learner.settled.kernel.gamma:g} " in lines["parameters"]
        and "parsimony=0.1" in lines["parameters"]
    )
    assert (lines["task"], lines["classes"], lines["features"]) == ("binary", "2: no, yes", "2")
    assert (lines["rows seen"], lines["size"], lines["scaling"]) == ("400", str(size), "standard")
    assert lines["points"].startswith(f"{size} x 2, from ")
    assert float(lines["hilbert_norm"]) == pytest.approx(learner.attributes["hilbert_norm"], rel=1e-5)


def test_a_description_of_many_classes_is_short_and_of_nothing_learned_is_possible():
    lines = describe(Learner("ogd", Multiclass(range(30))))
    assert lines["classes"] == "30: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 20 more"
    assert (lines["features"], lines["rows seen"], lines["memory"]) == ("-", "0", "-")
    assert "kernel.gamma=scale" in lines["parameters"]


@pytest.mark.parametrize("spec", [OGD(), FOGD(n_components=100)], ids=["points", "features"])
def test_the_surface_is_drawn_where_the_data_is(tmp_path, spec):
    learner, X = scaled(spec)
    points = learner.attributes.get("points")
    if points is not None:
        points = inspection._unscaled(learner, points)
        assert (points >= X.min(axis=0) - 1e-3).all() and (points <= X.max(axis=0) + 1e-3).all()
    low, high = inspection._region(learner, points)
    inside = ((low < X) & (high > X)).all(axis=1)
    assert inside.mean() > 0.9
    assert ((high - low) < 2.5 * np.ptp(X, axis=0)).all()
    assert write_inspection(tmp_path / "new", learner) == [tmp_path / "new" / "surface.png"]
    for colour in LIGHT.curves[:2]:
        strongest = 1 - 0.6 * (1 - np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255)
        assert (
            share_of(tmp_path / "new" / "surface.png", "#" + "".join(f"{round(255 * c):02x}" for c in strongest)) > 0.02
        )


def test_a_regression_is_a_map_of_values(tmp_path):
    learner, _ = scaled(OGD(), Regression(), lambda X: X[:, 0])
    (path,) = write_inspection(tmp_path, learner)
    picture = pixels(path)
    row = picture[len(picture) // 2]
    assert share_of(path, "#440154") > 0 and share_of(path, "#fde725") > 0  # both ends of the colour map
    # It rises from left to right: green grows along the map.
    assert row[200, 1] < row[600, 1]


def halves():
    """Images of 8 by 8 pixels whose left or upper half is black."""
    left, upper = np.zeros((2, 8, 8))
    left[:, :4] = upper[:4] = 1.0
    return np.stack([left, upper]).reshape(2, 64), np.array(["left", "upper"])


def test_points_that_are_images_are_drawn_as_images(tmp_path):
    learner = Learner(OGD(), Binary(["left", "upper"]))
    learner.learn(*halves())
    assert write_inspection(tmp_path, learner) == [tmp_path / "points.png"]
    black = pixels(tmp_path / "points.png").max(axis=2) < 0.01
    # Of each of two images a half is black, of the left one in the place of its left half.
    columns = np.flatnonzero(black.mean(axis=0) > 0.3)
    first, second = black[:, : black.shape[1] // 2], black[:, black.shape[1] // 2 :]
    assert first.sum() == pytest.approx(second.sum(), rel=0.1)
    heights = [np.ptp(np.flatnonzero(part.mean(axis=1) > 0.2)) for part in (first, second)]
    assert sorted(heights)[1] == pytest.approx(2 * sorted(heights)[0], rel=0.1)
    assert 0 < len(columns) < black.shape[1]
    assert list(inspection._titles(learner, learner.attributes["coef"])) == ["left", "upper"]


def test_the_shape_of_images_can_be_given_and_must_fit(tmp_path):
    learner = Learner(OGD(), Binary(["left", "upper"]))
    learner.learn(*halves())
    write_inspection(tmp_path / "square", learner)
    write_inspection(tmp_path / "flat", learner, image_shape=(4, 16))
    square, flat = (pixels(tmp_path / name / "points.png") for name in ("square", "flat"))
    assert not np.array_equal(square, flat)
    with pytest.raises(ValueError, match=r"image_shape=\(4, 4\) has 16 pixels, the model has 64 features"):
        write_inspection(tmp_path, learner, image_shape=(4, 4))


def test_learned_widths_are_drawn_and_a_model_of_which_nothing_can_be_drawn_gives_no_file(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 5))
    for spec, names in ((RRF(n_components=20), ["widths.png"]), (FOGD(n_components=20), [])):
        learner = Learner(spec, Regression())
        learner.learn(X, X[:, 0])
        assert [path.name for path in write_inspection(tmp_path, learner)] == names
    assert [path.name for path in tmp_path.iterdir()] == ["widths.png"]
    learner = Learner("auto", Regression())
    learner.learn(X, X[:, 0])
    assert [path.name for path in write_inspection(tmp_path / "auto", learner)] == ["importances.png"]
    assert write_inspection(tmp_path, Learner("ogd", "regression")) == []
