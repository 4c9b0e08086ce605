"""What a client asks a model to be, and the learner that comes of it with its first row."""

from typing import Any, Literal, TypeAlias

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from ..encoding import Columns
from ..engine import Algorithm
from ..evaluate.settings import spec_from
from ..learner import Learner
from ..parameters import LARGEST_SEED
from ..tasks import BINARY, MULTICLASS, REGRESSION, Binary, Multiclass, Regression, Task
from .records import Refusal

Word: TypeAlias = StrictBool | StrictInt | StrictFloat | StrictStr


class ModelSpec(BaseModel):
    """A model to be made."""

    model_config = ConfigDict(extra="forbid")

    task: Literal["binary", "multiclass", "regression"]
    classes: list[Word] | None = Field(
        None, min_length=1, max_length=10_000, description="All labels; of several classes, those that come are added."
    )
    algorithm: str | dict[str, Word] = Field(
        "auto",
        description='A learner\'s name, or its name and parameters: {"name": "fogd", "kernel.gamma": 0.1}.',
    )
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    dtype: Literal["float32", "float64"] = "float32"
    scaling: Literal["none", "online", "metric", "full-metric"] = "none"
    missing: Literal["mean", "zero", "refuse"] = Field("mean", description="What a missing value counts as.")
    categorical: Literal["onehot", "hash"] = Field("onehot", description="What words become.")
    hash_features: int = Field(256, ge=1, le=2**20, description="Places of hashed words, a power of two.")
    waiting_rows: int | None = Field(None, ge=1, le=10**7, description="Rows that may wait for their labels.")
    waiting_seconds: float | None = Field(None, gt=0, description="How long they may.")


def checked(spec: ModelSpec) -> None:
    """Refuse what no learner can be made of."""
    if spec.task == BINARY and (spec.classes is None or len(spec.classes) != 2):
        raise Refusal('A binary task needs its two classes, the second one positive: "classes": ["no", "yes"].')
    if spec.task == REGRESSION and spec.classes is not None:
        raise Refusal("A regression has no classes; leave them out, or choose binary or multiclass.")
    if spec.classes is not None and len({isinstance(label, str) for label in spec.classes}) > 1:
        raise Refusal("Some classes are words and some are numbers; give them as one kind.")
    try:
        learner_of(spec, named=True, label=0)
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise Refusal(str(error)) from None


def algorithm_of(spec: ModelSpec) -> Algorithm:
    given = {"name": spec.algorithm} if isinstance(spec.algorithm, str) else dict(spec.algorithm)
    name = given.pop("name", None)
    if not isinstance(name, str):
        raise ValueError('An algorithm needs its name, as in {"name": "fogd", "n_components": 400}.')
    return spec_from(name, [f"{setting}={value}" for setting, value in given.items()])


def learner_of(spec: ModelSpec, *, named: bool, label: Any) -> Learner:
    """The learner of a model whose first row has names or none, and this label if it is learned."""
    task: Task
    if spec.task == REGRESSION:
        task = Regression()
    elif spec.task == MULTICLASS:
        task = Multiclass(np.array([label]) if spec.classes is None else np.array(spec.classes))
    else:
        task = Binary(spec.classes)
    columns = Columns(categorical=spec.categorical, hash_features=spec.hash_features, missing=spec.missing)
    return Learner(
        algorithm_of(spec),
        task,
        seed=spec.seed,
        dtype=spec.dtype,
        scaling=spec.scaling,
        grow_classes=spec.task == MULTICLASS,
        columns=columns if named else None,
        waiting=spec.waiting_rows or 1,
    )
