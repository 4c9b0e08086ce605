"""A learner as a JSON value and named arrays, which is what its file holds, and back."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import tasks
from ..encoding import Columns
from ..engine import Algorithm, Shape, files
from ..engine.calibration import calibration_from
from ..engine.inputs import Inputs
from ..engine.opening import opening_from
from ..engine.runner import Runner
from ..engine.state import COUNTS, ModelFileError, leaves
from ..engine.waiting import MOST, waiting_from
from ..forms import agree
from ..numerics.intervals import intervals_from
from ..parameters import from_json as spec_from_json
from ..parameters import whole
from ..tasks import Classification
from .header import check_header
from .watching import choice_from

if TYPE_CHECKING:
    from .learner import Learner

PARTS = ("model", "inputs", "opening", "link", "waiting", "kept")  # of a model file


def to_parts(learner: "Learner") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    header: dict[str, Any] = {
        "algorithm": learner.algorithm.to_json(),
        "settled": None if learner.settled is None else learner.settled.to_json(),
        "task": learner.task.to_json(),
        "seed": learner.seed,
        "dtype": learner.dtype,
        "grow_features": learner.grow_features,
        "grow_classes": learner.grow_classes,
        "threads": learner.threads,
        "n_seen": learner.n_seen,
        "width": learner.width,
        "scaling": learner.inputs.to_json(),
        "columns": None if learner.columns is None else learner.columns.to_json(),
        "waiting": learner.waiting.to_json(),
        "opening": learner._opening is not None,
        "heads": learner._heads if learner.columns is None else [],
    }
    parts = {
        "model": {} if learner._runner is None else leaves(learner._runner.state),
        "inputs": learner.inputs.arrays(),
        "opening": {} if learner._opening is None else learner._opening.arrays(),
        "waiting": learner.waiting.arrays() if len(learner.waiting) else {},
        "link": learner._calibration.arrays() if learner._calibration else {},
    }
    if learner._watching is not None:
        header["drift"] = learner._watching.to_json()
        parts["kept"] = learner._watching.arrays(learner.task)
    return header, files.joined(parts)


def from_parts(cls: "type[Learner]", header: dict[str, Any], arrays: dict[str, np.ndarray]) -> "Learner":
    if "targets" in header:
        n = len(header["targets"])
        raise ModelFileError(
            f"It holds a learner for each of {n} targets, where one is asked for: kernelstream.load reads it; or save "
            "a model of each target."
        )
    check_header(header)
    drift, on_drift = choice_from(header)
    learner = cls(
        spec_from_json(header["algorithm"]),
        tasks.from_json(header["task"]),
        seed=header["seed"],
        dtype=header["dtype"],
        grow_features=header["grow_features"],
        grow_classes=header["grow_classes"],
        scaling=Inputs.from_json(header["scaling"], files.part(arrays, "inputs"), header["width"]),
        threads=header["threads"],
        columns=Columns.of_file(header),
        waiting=(header.get("waiting") or {"most": MOST})["most"],
        drift=drift,
        on_drift=on_drift,
    )
    learner.grow_features, learner._heads = header["grow_features"], header.get("heads") or []
    agree("opening", header["opening"], bool(files.part(arrays, "opening")), "what there is of its first rows")
    strange = [name for name in arrays if name.partition(".")[0] not in PARTS]
    if strange:
        raise ValueError(f"it holds an array {strange[0]!r}, which is of no part of a learner")
    if header.get("waiting") is not None and header["waiting"]["ids"]:
        learner.waiting = waiting_from(header["waiting"], files.part(arrays, "waiting"))
    if isinstance(learner.task, Classification):
        if learner._calibration:
            learner._calibration = calibration_from(files.part(arrays, "link"), len(learner.task.classes))
    else:
        learner._calibration = intervals_from(files.part(arrays, "link"))
    if header["settled"] is not None:
        _take_model(learner, header, arrays)
    if learner._watching is not None:
        learner._watching.restore_model(header["drift"], files.part(arrays, "kept"), learner.task, learner.width)
    return learner


def _take_model(learner: "Learner", header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """What was learned, with the first rows while they are kept."""
    settled = spec_from_json(header["settled"])
    width, n_seen = header["width"], header["n_seen"]
    whole(1, width=width)
    whole(0, n_seen=n_seen)
    if type(settled) is not type(learner.algorithm) or settled.depends_on_data(learner.task.name) or n_seen > COUNTS[1]:
        raise ValueError("its header contradicts itself")
    found = settled.get_params()
    for name, value in _stated(learner.algorithm).items():
        agree(f"settled.{name}", found.get(name), value, "algorithm")
    shape = Shape(width, learner.task.n_outputs, learner.seed, np.dtype(learner.dtype))
    state = settled.restore(files.part(arrays, "model"), shape)
    learner._runner = Runner(settled, learner.task.name, state, shape, learner.sharing, n_seen)
    learner._opening = opening_from(files.part(arrays, "opening"), width) if header["opening"] else None
    if learner._opening is not None:
        agree("n_seen", n_seen, learner._opening.n_rows, "what it keeps of its first rows")


def require_finite(learner: "Learner", arrays: dict[str, np.ndarray], path: Any) -> None:
    """FloatingPointError for a model that could not be loaded again."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise FloatingPointError(
                f"The model has diverged: its array {name} is not finite, and a file with it could not be "
                f"loaded. {path} is left as it was; {learner.spec.cure}, or scale features and targets."
            )


def _stated(spec: Algorithm) -> dict[str, Any]:
    """Numbers that a spec states, those of its kernel too: rows settle none of them, but t_0, which becomes even."""
    stated = spec.get_params().items()
    return {name: value for name, value in stated if type(value) in (int, float) and not name.endswith("start")}
