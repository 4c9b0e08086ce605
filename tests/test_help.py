"""help() teaches: every public name says what it is, its parameters, an example that runs."""

import doctest
import inspect
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Self

import pytest

import kernelstream
import kernelstream.client
import kernelstream.encoding
import kernelstream.evaluate
import kernelstream.river
import kernelstream.sources
from kernelstream.engine import Algorithm
from kernelstream.kernels import KERNELS
from kernelstream.losses import LOSSES
from kernelstream.schedules import SCHEDULES
from kernelstream.teaching import WORDS, explained, said_of
from servers import redis_streams

PUBLIC = {name: getattr(kernelstream, name) for name in kernelstream.__all__}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
SPECS = {name: value for name, value in CLASSES.items() if issubclass(value, Algorithm)}
PARTS = {part.__name__: part for parts in (KERNELS, LOSSES, SCHEDULES) for part in parts.values()}
FACES = {name: value for name, value in CLASSES.items() if hasattr(value, "get_params") and name not in SPECS}
SOURCES = ("open_source", "ArraySource", "RowSource", "Scaled", "Shuffled", "fit_scaling")
SOURCES += ("DelimitedSource", "LibsvmSource", "MessageSource", "NpzSource")
SOURCES += ("Checkerboard", "Hyperplane", "Lorenz", "MackeyGlass", "Multidist")
# What is asked for by its module's name too: all that stands in docs/api/index.rst, but for kernels, losses and steps.
NAMED = {name: value for name, value in PUBLIC.items() if callable(value)}
NAMED |= {f"evaluate.{name}": getattr(kernelstream.evaluate, name) for name in kernelstream.evaluate.__all__}
NAMED |= {f"client.{name}": getattr(kernelstream.client, name) for name in kernelstream.client.__all__}
NAMED |= {f"sources.{name}": getattr(kernelstream.sources, name) for name in SOURCES}
NAMED["encoding.Columns"] = kernelstream.encoding.Columns
NAMED |= {f"river.{name}": getattr(kernelstream.river, name) for name in ("KernelClassifier", "KernelRegressor")}
FACED = {name: value for name, value in NAMED.items() if inspect.isclass(value) and name not in SPECS}
FACED["river.KernelAnomalyDetector"] = kernelstream.river.KernelAnomalyDetector
METHODS = {
    (name, attribute): value
    for name, cls in FACED.items()
    for attribute, value in inspect.getmembers(cls, callable)
    if not attribute.startswith("_") and (getattr(value, "__module__", None) or "").startswith("kernelstream")
}
WITH_EXAMPLES = [named for named, method in METHODS.items() if ">>> " in (inspect.getdoc(method) or "")]
TAUGHT = {
    "Learner": {
        *("learn", "learn_late", "learn_one", "label", "scores", "scores_one", "show", "predict", "probabilities"),
        *("intervals", "merge", "save", "load", "snapshot"),
    },
    "OnlineKernelClassifier": {
        *("fit", "partial_fit", "predict_learn", "predict", "decision_function", "predict_proba", "merge", "save"),
        "set_params",
    },
    "OnlineKernelRegressor": {"predict", "predict_learn", "predict_interval", "merge", "save", "set_params"},
    "OnlineKernelOutlier": {"predict_learn"},
    "FourierFeatures": {"transform"},
    "OnlineScaler": {"transform_learn"},
    "river.KernelClassifier": {"predict_one", "learn_many", "predict_many"},
    "river.KernelRegressor": {"learn_many", "predict_many"},
    "client.Client": {"make"},
    "client.Model": {"learn", "predict_proba", "snapshot"},
}
ADDRESS = "http://127.0.0.1:8000"  # where the examples find a service
STREAMS = "redis://127.0.0.1:6379"  # and streams of messages


def parameters(cls):
    given = inspect.signature(cls).parameters.values()
    return [one.name for one in given if one.kind is not one.VAR_KEYWORD]


@pytest.mark.parametrize("name", [*SPECS, *PARTS])
def test_help_says_something_of_every_parameter(name):
    cls = {**SPECS, **PARTS}[name]
    lines = [*inspect.getdoc(cls).splitlines(), ""]
    for parameter in parameters(cls):
        (at,) = (i for i, line in enumerate(lines) if line.startswith(f"{parameter} : default "))
        by_its_formula = name in {loss.__name__ for loss in LOSSES.values()}
        assert by_its_formula or len(lines[at + 1].removeprefix("    ").split()) >= 2, parameter


@pytest.mark.parametrize("name", FACES)
def test_help_of_estimators_and_transformers_names_every_parameter(name):
    text = inspect.getdoc(FACES[name])
    for parameter in parameters(FACES[name]):
        assert f"\n{parameter} : " in text, parameter


@pytest.mark.parametrize("name", SPECS)
def test_help_of_a_spec_has_its_paper(name):
    paper = SPECS[name].paper
    author = paper.split()[0].strip(",")
    assert paper == "ours" or (author in SPECS[name].__doc__ and paper[-4:] in SPECS[name].__doc__)


@pytest.mark.parametrize("name", NAMED)
def test_examples_are_true(name, request, tmp_path):
    tried(NAMED[name], request, tmp_path)


def tried(told, request, tmp_path):
    """Run the examples of something's help, beside the servers that they name."""
    text = inspect.getdoc(told)
    if ADDRESS in text:
        text = text.replace(ADDRESS, request.getfixturevalue("service").url)
    with redis_streams(tmp_path) if STREAMS in text else nullcontext() as server:
        text = text if server is None else text.replace(STREAMS, server.address)
        test = doctest.DocTestParser().get_doctest(text, {}, told.__name__, None, None)
        assert test.examples and not any(example.options for example in test.examples)
        assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


@pytest.mark.parametrize("name", [name for name in NAMED if name not in SPECS])
def test_help_names_every_parameter(name):
    lines = inspect.getdoc(NAMED[name]).splitlines()
    heads = {word for line in lines for word in re.split(r", ", line.partition(" : ")[0])}
    given = inspect.signature(NAMED[name]).parameters.values()
    assert not {one.name for one in given if one.name not in ("self", "parameters")} - heads


@pytest.mark.parametrize(("name", "method"), METHODS)
def test_help_of_a_method_says_something_of_every_parameter(name, method):
    text = inspect.getdoc(METHODS[name, method])
    for parameter in inspect.signature(METHODS[name, method]).parameters:
        if parameter not in ("self", "cls"):
            assert re.search(rf"^{parameter} : \S+", text, re.M), parameter


@pytest.mark.parametrize(("name", "method"), WITH_EXAMPLES)
def test_examples_of_methods_are_true(name, method, request, tmp_path):
    tried(METHODS[name, method], request, tmp_path)


@pytest.mark.parametrize("name", TAUGHT)
def test_what_people_call_most_has_an_example(name):
    assert TAUGHT[name] <= {method for owner, method in WITH_EXAMPLES if owner == name}


def test_a_method_is_explained_by_itself_its_class_and_the_words_that_all_share():
    @explained(y="of the class")
    class Some:
        def asked(self, X, y, own=1, **rest) -> Self:
            """What it does.

            own, rest: of the method

            >>> 1
            1
            """

        @classmethod
        def made(cls):
            """What it makes."""

        def _private(self, X):
            """Nobody asks."""

        def silent(self, X): ...

    assert inspect.getdoc(Some.asked) == (
        "What it does.\n\n"
        f"Parameters\n----------\nX : {WORDS['X']}\ny : of the class\nown : of the method\nrest : of the method\n\n"
        "Returns\n-------\nitself\n\nExamples\n--------\n>>> 1\n1"
    )
    assert (Some.made.__doc__, Some._private.__doc__, Some.silent.__doc__) == ("What it makes.", "Nobody asks.", None)


def test_the_list_of_names_is_complete():
    listed = (Path(__file__).parents[1] / "docs" / "api" / "index.rst").read_text()
    names = {name.rpartition(".")[2] for name in NAMED} | {"ALGORITHMS"} | set(PARTS) - {"Margin", "Tube", "Novelty"}
    assert names <= set(re.findall(r"\w+", listed))


@pytest.mark.parametrize("name", [name for name in CLASSES if name not in SPECS])
def test_every_method_says_what_it_does(name):
    for attribute, value in inspect.getmembers(CLASSES[name]):
        own = getattr(value, "__module__", "") or ""
        if not attribute.startswith("_") and callable(value) and own.startswith("kernelstream"):
            assert inspect.getdoc(value), f"{name}.{attribute}"


def test_words_of_parameters_are_found_behind_the_prose():
    text = "What it is. See also: b.\n\na: first,\n    and more. b, c: second."
    assert said_of(text, ["a", "b", "c"]) == (
        "What it is. See also: b.",
        {"a": "first, and more.", "b": "second.", "c": "second."},
    )
    assert said_of("Only prose.", ["a"]) == ("Only prose.", {})
