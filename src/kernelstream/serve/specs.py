"""What a client asks a model to be, and the learner that comes of it with its first row."""

from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    WrapValidator,
)

from ..encoding import Columns
from ..encoding.values import FILE_DATES
from ..engine import Algorithm
from ..evaluate.settings import spec_from
from ..extras import MissingExtra
from ..learner import Learner
from ..parameters import LARGEST_SEED
from ..tasks import BINARY, MULTICLASS, REGRESSION, Binary, Multiclass, Regression, Task
from .records import Refusal
from .room import require_room


def _or(words: str) -> WrapValidator:
    """Of several types: one sentence where a value has none of them."""

    def validated(value: Any, handler: Any) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise ValueError(f"{value!r:.80} is not {words}") from None

    return WrapValidator(validated)


def _parts(dates: Any) -> Any:
    """As the command takes them, too."""
    return [] if dates == "none" else dates.split(",") if isinstance(dates, str) else dates


def _watches(drift: Any) -> Any:
    """One, or several."""
    return [drift] if isinstance(drift, str) else drift


Word: TypeAlias = Annotated[StrictBool | StrictInt | StrictFloat | StrictStr, _or("a word, a number or a truth value")]
Part: TypeAlias = Literal["hour", "day", "week", "year", "trend"]
Named: TypeAlias = Annotated[
    str | dict[str, Word],
    _or('a learner\'s name, or an object of its name and parameters: {"name": "fogd", "kernel.gamma": 0.1}'),
]


class ModelSpec(BaseModel):
    """A model to be made."""

    model_config = ConfigDict(extra="forbid")

    task: Literal["binary", "multiclass", "regression"]
    classes: list[Word] | None = Field(
        None, min_length=1, max_length=10_000, description="All labels; of several classes, those that come are added."
    )
    algorithm: Named = Field(
        "auto",
        description='A learner\'s name, or its name and parameters: {"name": "fogd", "kernel.gamma": 0.1}.',
    )
    seed: int = Field(0, ge=0, le=LARGEST_SEED)
    dtype: Literal["float32", "float64"] = "float32"
    scaling: Literal["none", "online", "metric", "full-metric"] = "none"
    missing: Literal["mean", "zero", "refuse"] = Field("mean", description="What a missing value counts as.")
    categorical: Literal["onehot", "hash"] = Field("onehot", description="What words become.")
    hash_features: int = Field(256, ge=1, le=2**20, description="Places of hashed words, a power of two.")
    dates: Annotated[list[Part], BeforeValidator(_parts)] = Field(
        FILE_DATES, validate_default=True, description='What dates become; [] or "none": their text is words.'
    )
    waiting_rows: int | None = Field(None, ge=1, le=10**7, description="Rows that may wait for their labels.")
    waiting_seconds: float | None = Field(None, gt=0, description="How long they may.")
    drift: Annotated[list[StrictStr] | None, BeforeValidator(_watches)] = Field(
        None,
        min_length=1,
        max_length=16,
        description='What looks out for a change: ["adwin"], or ["kswin:on=price"] of a feature.',
    )
    on_drift: StrictStr = Field("warn", description='Then: "warn", "restart", "forget", or "forget:500".')


def checked(spec: ModelSpec, most_bytes: int) -> None:
    """Refuse what no learner can be made of, or none that takes so few bytes."""
    if spec.task == BINARY and (spec.classes is None or len(spec.classes) != 2):
        raise Refusal('A binary task needs its two classes, the second one positive: "classes": ["no", "yes"].')
    if spec.task == REGRESSION and spec.classes is not None:
        raise Refusal("A regression has no classes; leave them out, or choose binary or multiclass.")
    if spec.classes is not None and len({isinstance(label, str) for label in spec.classes}) > 1:
        raise Refusal("Some classes are words and some are numbers; give them as one kind.")
    try:
        learner = learner_of(spec, named=True, label=0)
        require_room(learner.algorithm, learner.task, spec.dtype, 1, most_bytes)
    except (ValueError, TypeError, OverflowError, MemoryError, MissingExtra) as error:
        raise Refusal(str(error)) from None


def columns_of(spec: ModelSpec) -> Columns:
    return Columns(
        categorical=spec.categorical, hash_features=spec.hash_features, missing=spec.missing, dates=spec.dates
    )


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
    return Learner(
        algorithm_of(spec),
        task,
        seed=spec.seed,
        dtype=spec.dtype,
        scaling=spec.scaling,
        grow_classes=spec.task == MULTICLASS,
        columns=columns_of(spec) if named else None,
        waiting=spec.waiting_rows or 1,
        drift=spec.drift,
        on_drift=spec.on_drift,
    )
