"""What is shown of a model beside its errors: features by their names in the file, a stack's parts over time."""

import html
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from kernelstream import FOGD, Binary, Learner, Ridge, Stack
from kernelstream.cli import app
from kernelstream.laws.examples import stream
from kernelstream.report.inside import Share, in_words, inside, ranked
from kernelstream.sources import open_source


@pytest.fixture
def table(tmp_path):
    """A label that depends on one number and one category, and not on the other columns."""
    draws = np.random.default_rng(0)
    numbers, kinds = draws.normal(size=(700, 3)), draws.choice(["red", "green"], 700)
    label = np.where(numbers[:, 1] + (kinds == "red") > 0.5, "yes", "no")
    lines = [f"{a:.5f},{b:.5f},{k},{c:.5f},{y}" for (a, b, c), k, y in zip(numbers, kinds, label, strict=True)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["height,signal & noise,colour,weight,answer", *lines]) + "\n")
    return path


def call(*arguments):
    answer = CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "100"})
    assert answer.exit_code == 0, answer.output
    return answer.stdout


def pictures(page):
    """What the pictures of a page say to those who do not see them."""
    return list(dict.fromkeys(html.unescape(alt) for alt in re.findall(r'alt="([^"]*)"', page.read_text())))


def test_run_and_inspect_show_which_features_matter_by_their_names(table, tmp_path):
    page, model = tmp_path / "page.html", tmp_path / "model.ks"
    options = ("--categorical", "onehot", "--set", "size=small", "--report", page, "--save", model)
    shown = call("run", table, *options)
    features = next(line for line in shown.splitlines() if "features that matter" in line)
    assert re.search(r"features that matter\s+█{10}\s+\d+\.\d %  signal & noise", features)
    picture = next(alt for alt in pictures(page) if "matter" in alt)
    assert picture.startswith("Features that matter to auto: signal & noise ")
    assert "colour=red" in picture and picture.count("%") == len(inside(Learner.load(model)).features)
    facts = json.loads(call("inspect", model, "--json", "--output", tmp_path / "drawn"))
    assert "signal & noise" in facts["feature_importances"].splitlines()[0]
    assert (tmp_path / "drawn" / "importances.png").stat().st_size > 5000


def test_run_and_inspect_show_the_weights_of_a_stack(table, tmp_path):
    page, model = tmp_path / "page.html", tmp_path / "model.ks"
    parts = ("--set", "parts=ridge,fogd", "--set", "parts.0.n_components=20", "--set", "parts.1.n_components=20")
    shown = call(
        "run", table, "--categorical", "onehot", "--algorithm", "stack", *parts, "--report", page, "--save", model
    )
    weights = Learner.load(model).attributes["weights"]
    words = ", ".join(f"{part} {weight:.3g}" for part, weight in zip(("ridge", "fogd"), weights, strict=True))
    assert words in shown
    at_the_end = ", ".join(f"{part} {weight:.2f}" for part, weight in zip(("ridge", "fogd"), weights, strict=True))
    assert f"Weights of the parts of stack. At the end {at_the_end}." in pictures(page)
    facts = json.loads(call("inspect", model, "--json", "--output", tmp_path / "drawn"))
    assert facts["weights"] == words and (tmp_path / "drawn" / "weights.png").stat().st_size > 5000


def test_a_learner_without_importances_shows_none(table, tmp_path):
    page = tmp_path / "page.html"
    shown = call("run", table, "--drop", "colour", "--algorithm", "fogd", "--set", "n_components=20", "--report", page)
    assert "matter" not in shown and not any("matter" in alt or "Weights" in alt for alt in pictures(page))


def test_parts_of_one_kind_are_told_apart_and_the_last_weights_are_those_of_now():
    X, y = stream("binary", n=200)
    learner = Learner(
        Stack(parts=(FOGD(n_components=20), Ridge(n_components=20), FOGD(n_components=20))), Binary([-1, 1])
    )
    learner.learn(X, y)
    shown = inside(learner)
    assert shown.parts == ["fogd 0", "ridge", "fogd 2"]
    assert shown.moments[-1].tolist() == [200, *learner.attributes["weights"]]


def test_features_are_ranked_and_those_without_a_share_are_left_out():
    assert ranked([0.1, 0.0, 0.8996, 0.0004], ["a", "b", "a very long name that goes on and on"]) == [
        Share("a very long name that goes …", 0.8996),
        Share("a", 0.1),
    ]
    assert ranked([0.6, 0.4]) == [Share("feature 0", 0.6), Share("feature 1", 0.4)]
    assert ranked(()) == []


def test_bars_are_as_long_as_the_shares():
    lines = in_words([Share("one", 0.5), Share("half", 0.25), Share("little", 0.01)]).splitlines()
    assert lines == ["██████████  50.0 %  one", "█████       25.0 %  half", "▎            1.0 %  little"]
    many = in_words([Share(str(i), 0.1) for i in range(10)]).splitlines()
    assert len(many) == 7 and many[-1] == "and 4 more"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"categorical": "onehot"}, ["height", "signal & noise", "weight", "colour=red", "colour=green"]),
        ({"categorical": "hash"}, None),
        ({"drop": ["colour"]}, ["height", "signal & noise", "weight"]),
    ],
)
def test_a_table_names_its_features(table, options, names):
    source = open_source(table, **options)
    assert source.feature_names is None
    list(source)
    found = source.feature_names
    assert (found is None) == (names is None)
    assert names is None or (found[:3] == names[:3] and sorted(found) == sorted(names))
