"""A model as a graph of ONNX's plain operators: scaling, kernel or features, labels and chances of classes inside.

Rows are what comes in, `X`: (rows, features) in the model's own precision. What goes out is `label` with
`probabilities` (of outliers there are none) and `scores`, or `value`. A graph checks nothing, and learns nothing.

Remarks. What cancels (squared distances, scaling, a stack's sum) is computed in float64, the rest in the model's own
precision: scores are those of the learner to rounding. Boxes (`map="binning"`, auto's cells) have borders: a row within
rounding of one may fall on its other side.
"""

from typing import Any

from ..engine import Algorithm
from ..learner import Learner
from ..tasks import Classification
from .graph import Graph, Tensor
from .heads import labels, probabilities
from .inputs import in_the_targets_unit, scaled
from .models import Model, scores_of


def graph_of(model: Any, version: str) -> Any:
    """The graph (`onnx.ModelProto`) of a learner or of a fitted estimator; `version`, the library's, is noted in it."""
    found = getattr(model, "learner_", None) or getattr(model, "learner", None) or model
    several = hasattr(found, "learners")  # of a regressor with several targets
    learners: list[Any] = found.learners if several else [found]
    for one in learners:
        if not isinstance(one, Learner):
            raise ValueError(_why_not(model))
        if one.n_seen == 0:
            raise ValueError("The model has learned no row yet, so that there is nothing to hand on.")
    graph, first = Graph(), learners[0]
    x = graph.input("X", first.dtype, first.width)
    if isinstance(first.task, Classification):
        write_classes(graph, first, first.task, x)
    else:
        values = [valued(one, x) for one in learners]
        if several:
            graph.output("value", graph.joined(values, 1), len(values))
        else:
            graph.output("value", values[0].reshape(-1))
    return graph.model(first.name, version, properties(first))


def _why_not(model: Any) -> str:
    """Why there is no graph of what is no learner and has none."""
    kind = type(model).__name__
    if hasattr(model, "predict_learn") or hasattr(type(model), "learner"):
        return f"This {kind} has learned nothing that a graph could hold: fit it first."
    if hasattr(model, "steps"):
        return (
            f"A {kind} has steps that no graph of ours holds: give its last one, model[-1], which takes rows as the "
            "steps before it make them, or leave the scaling to it, scaling='online'."
        )
    return f"A graph holds a Learner, or a fitted classifier, regressor or detector of kernelstream; this is of {kind}."


def valued(learner: Learner, x: Tensor) -> Tensor:
    """(rows, 1) what a regression says of rows as they come."""
    with learner.reading() as (spec, state):
        scores = scored(learner, spec, state, x)
        return in_the_targets_unit(learner.inputs.targets, scores).cast(learner.dtype)


def write_classes(graph: Graph, learner: Learner, task: Classification, x: Tensor) -> None:
    with learner.reading() as (spec, state):
        scores = scored(learner, spec, state, x)
        chances = None if learner.without_labels else probabilities(learner, task, spec, state, scores)
    graph.output("label", labels(task, scores))
    if chances is not None:
        graph.output("probabilities", chances.cast(learner.dtype), len(task.classes))
    graph.output("scores", scores, task.n_outputs)


def scored(learner: Learner, spec: Algorithm, state: Any, x: Tensor) -> Tensor:
    """(rows, K) scores of rows as they come."""
    rows = scaled(learner.inputs.features, x, learner.width)
    return scores_of(Model(spec, state, learner.task.name, learner.width), rows)


def properties(learner: Learner) -> dict[str, str]:
    """What is noted beside the graph."""
    noted = {"algorithm": repr(learner.spec), "task": learner.task.name, "rows learned": str(learner.n_seen)}
    if isinstance(learner.task, Classification):
        noted["classes"] = ", ".join(map(str, learner.task.classes.tolist()))
    return noted
