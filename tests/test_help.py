"""help() teaches: every public name says what it is, its parameters, an example that runs."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

import kernelstream
import kernelstream.client
import kernelstream.evaluate
import kernelstream.river
from kernelstream.engine import Algorithm
from kernelstream.kernels import KERNELS
from kernelstream.losses import LOSSES
from kernelstream.parameters import said_of
from kernelstream.schedules import SCHEDULES

PUBLIC = {name: getattr(kernelstream, name) for name in kernelstream.__all__}
CLASSES = {name: value for name, value in PUBLIC.items() if inspect.isclass(value)}
SPECS = {name: value for name, value in CLASSES.items() if issubclass(value, Algorithm)}
PARTS = {part.__name__: part for parts in (KERNELS, LOSSES, SCHEDULES) for part in parts.values()}
FACES = {name: value for name, value in CLASSES.items() if hasattr(value, "get_params") and name not in SPECS}
# What is asked for by its module's name too: all that stands in docs/api/index.rst, but for kernels, losses and steps.
NAMED = {name: value for name, value in PUBLIC.items() if callable(value)}
NAMED |= {f"evaluate.{name}": getattr(kernelstream.evaluate, name) for name in kernelstream.evaluate.__all__}
NAMED |= {f"client.{name}": getattr(kernelstream.client, name) for name in kernelstream.client.__all__}
NAMED |= {f"river.{name}": getattr(kernelstream.river, name) for name in ("KernelClassifier", "KernelRegressor")}
ADDRESS = "http://127.0.0.1:8000"  # where the examples find a service


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
def test_examples_are_true(name, request):
    text = inspect.getdoc(NAMED[name])
    if ADDRESS in text:
        text = text.replace(ADDRESS, request.getfixturevalue("service").url)
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert test.examples and not any(example.options for example in test.examples)
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


@pytest.mark.parametrize("name", [name for name in NAMED if name not in SPECS])
def test_help_names_every_parameter(name):
    lines = inspect.getdoc(NAMED[name]).splitlines()
    heads = {word for line in lines for word in re.split(r", ", line.partition(" : ")[0])}
    given = inspect.signature(NAMED[name]).parameters.values()
    assert not {one.name for one in given if one.name not in ("self", "parameters")} - heads


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
