"""What requests and answers look like, for the OpenAPI description: rows are read by `records`, faster."""

from typing import Any

from pydantic import BaseModel, Field

from .specs import Word

NDJSON = "application/x-ndjson"
ARROW = "application/vnd.apache.arrow.stream"
OCTETS = "application/octet-stream"


class Problem(BaseModel):
    error: str


class Ready(BaseModel):
    ready: bool


class SnapshotName(BaseModel):
    name: str = Field(examples=["before-friday"])


_VALUE = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "null"}]}
_LABEL = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]}
_ROWS = {
    "type": "array",
    "minItems": 1,
    "items": {
        "anyOf": [
            {"type": "object", "additionalProperties": _VALUE, "minProperties": 1},
            {"type": "array", "items": {"type": "number"}, "minItems": 1},
        ]
    },
}
_WEIGHTS = {"type": "array", "items": {"type": "number", "minimum": 0}}
_IDS = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 200}}
_AMOUNTS = [{"amount": 12.5, "country": "PT"}]


def _object(required: list[str], example: Any, **properties: Any) -> dict[str, Any]:
    found = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return found | {"example": example}


def _body(schema: dict[str, Any], *others: str) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": schema}}
    content |= {kind: {"schema": {"type": "string", "format": "binary"}} for kind in others}
    return {"requestBody": {"required": True, "content": content}}


def _parameter(name: str, place: str, words: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "required": False, "description": words, "schema": schema}


_KEY = _parameter(
    "Idempotency-Key",
    "header",
    "A request that is sent again under its key is answered as it was the first time.",
    type="string",
    minLength=1,
    maxLength=200,
)
_APART = [
    _parameter(what, "query", f"The column of lines or of a table that is no feature but the {what}.", type="string")
    for what in ("label", "id", "weight")
]
for _one in _APART:
    _one["schema"] |= {"maxLength": 200, "default": _one["name"]}
_FRESH = _parameter("fresh", "query", "Wait until all that was acknowledged is seen.", type="boolean", default=False)


def asked(kind: type[BaseModel]) -> dict[str, Any]:
    """The JSON body of a request."""
    return _body(kind.model_json_schema())


LEARN = _body(
    _object(
        ["rows", "labels"],
        {"rows": _AMOUNTS, "labels": ["no"]},
        rows=_ROWS,
        labels={"type": "array", "items": _LABEL},
        weights=_WEIGHTS,
    ),
    NDJSON,
    ARROW,
)
PREDICT = _body(_object(["rows"], {"rows": _AMOUNTS, "ids": ["tx-1"]}, rows=_ROWS, ids=_IDS), NDJSON, ARROW)
LABELS = _body(
    _object(
        ["labels"],
        {"labels": {"tx-1": "yes"}},
        labels={"type": "object", "additionalProperties": _LABEL},
    )
)
LEARN["parameters"] = [*_APART, _KEY]
PREDICT["parameters"] = [*_APART, _FRESH, _KEY]
LABELS["parameters"] = [_KEY]
INFER = _body(
    _object(
        ["inputs"],
        {"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP64", "data": [0.5, 1.0]}]},
        inputs={
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "shape", "datatype"],
                "properties": {
                    "name": {"type": "string"},
                    "shape": {"type": "array", "items": {"type": "integer"}},
                    "datatype": {"type": "string"},
                    "data": {"type": "array"},
                    "parameters": {"type": "object"},
                },
            },
        },
        id={"type": "string"},
        outputs={"type": "array", "items": {"type": "object", "required": ["name"]}},
        parameters={"type": "object"},
    ),
    OCTETS,
)
UPLOAD = {"requestBody": {"required": True, "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}}


class Learned(BaseModel):
    predictions: list[Word] = Field(description="What was said of each row before it was learned.")
    rows_learned: int


class Predicted(BaseModel):
    predictions: list[Word]
    scores: list[list[float | None]]
    probabilities: list[list[float]] | None = None
    classes: list[Word] | None = None


class Labelled(BaseModel):
    labels: dict[str, str] = Field(description="learned, repeated, unknown or refused, by id.")
    rows_learned: int
    reasons: dict[str, str] | None = None


class Restored(BaseModel):
    rows_learned: int


class Kept(BaseModel):
    name: str
    made: float
    rows_learned: int


class Inferred(BaseModel):
    model_name: str
    model_version: str
    id: str | None = None
    outputs: list[dict[str, Any]]


class Described(BaseModel):
    """A model: the protocol's metadata, and how it does."""

    name: str
    versions: list[str]
    platform: str
    inputs: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    ready: bool
    task: str
    classes: list[Word] | None
    algorithm: dict[str, Any]
    made: float
    rows_learned: int
    rows_waiting: int
    rows_given_up: int
    rows_queued: int
    named: bool | None = Field(description="Whether features have names; null until a row says so.")
    dates: list[str] = Field(description="Names whose values are dates: text, or seconds since 1970.")
    features: int
    size: int
    bytes: int
    error: dict[str, Any]
    drift: dict[str, Any] | None = Field(description="What it looks out for itself, and what it found and did.")
    published: dict[str, Any]
    log: dict[str, int]
    snapshots: list[Kept]


class Listed(BaseModel):
    models: list[Described]


class History(BaseModel):
    """The error along the stream."""

    metric: str
    window: int
    points: list[list[float]] = Field(description="Rows, error of all of them, error of the newest.")
    drifts: list[int]


_PROBLEMS = {
    400: "The request cannot be read.",
    401: "A token is needed.",
    403: "The token's scope does not reach so far, or another site asks.",
    404: "There is no such thing.",
    405: "A name with a slash in it, which makes another address of it.",
    408: "The request came too slowly.",
    409: "It is in the way of what is there, or nothing was learned yet.",
    413: "The request is too large.",
    415: "The body is of a type, or packed as something, that is not taken here.",
    421: "The request is for another machine.",
    422: "What is asked for cannot be done; the error says why.",
    429: "Too much waits to be learned.",
    503: "Too many requests, or a model is not ready.",
    507: "The disk is full or fails; nothing was learned.",
}
OPEN = (421, 503)  # whoever asks, whatever for
READ = (401, *OPEN)
CHANGE = (401, 403, *OPEN)
NAMED = (404, 405)
BODY = (400, 408, 413, 415, 422)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that an operation may answer with."""
    return {status: {"model": Problem, "description": _PROBLEMS[status]} for status in sorted(set(statuses))}


def ready(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The same, of an operation that says by 503 that something is not ready."""
    return problems(*statuses) | {503: {"model": Ready | Problem, "description": _PROBLEMS[503]}}


def completed(description: dict[str, Any]) -> None:
    """Say in the description that requests may carry a token; and leave out that paths may be of wrong types, as
    nothing in them has one.
    """
    for operations in description["paths"].values():
        for operation in operations.values():
            if "HTTPValidationError" in str(operation["responses"].get("422")):
                del operation["responses"]["422"]
    scheme = {"type": "http", "scheme": "bearer", "description": "ks_..., where there are tokens"}
    description.setdefault("components", {})["securitySchemes"] = {"token": scheme}
    description["security"] = [{"token": []}, {}]
