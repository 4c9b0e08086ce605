"""The Open Inference Protocol, version 2: tensors to rows, predictions to tensors; JSON, and raw bytes behind it.

A model without names has one input, ``x``, of shape [rows, features]; one with names has an input for each, of shape
[rows] or [rows, 1]. Outputs are ``prediction``, ``scores`` and, for classes, ``probabilities``. There is one version.
"""

import struct
from typing import Any

import msgspec
import numpy as np

from ..encoding.tables import NUMBER
from ..learner import Learner
from ..tasks import Classification
from .records import Refusal, Rows, encoded

KINDS = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
}
BYTES = "BYTES"
VERSION = "1"
LENGTH = "Inference-Header-Content-Length"
OUTPUTS = ("prediction", "scores", "probabilities")
_SHOWN = 10  # names that an error tells


class Tensor(msgspec.Struct):
    name: str
    shape: list[int]
    datatype: str
    data: list[Any] | None = None
    parameters: dict[str, Any] | None = None


class Wanted(msgspec.Struct):
    name: str
    parameters: dict[str, Any] | None = None


class Inference(msgspec.Struct):
    """The JSON of an inference request."""

    inputs: list[Tensor]
    id: str | None = None
    outputs: list[Wanted] | None = None
    parameters: dict[str, Any] | None = None


_decoder = msgspec.json.Decoder(Inference)


def described_tensors(name: str, learner: Learner | None, classes: list[Any] | None) -> dict[str, Any]:
    """The protocol's metadata of a model."""
    inputs = [{"name": "x", "datatype": "FP64", "shape": [-1, -1 if learner is None else learner.width]}]
    if learner is not None and learner.columns is not None:
        inputs = [
            {"name": str(entry), "datatype": "FP64" if kind == NUMBER else BYTES, "shape": [-1, 1]}
            for entry, kind in learner.columns.names.items()
        ]
    n = 1 if classes is None or len(classes) == 2 else len(classes)
    kind = "FP64" if classes is None else BYTES if any(isinstance(label, str) for label in classes) else "INT64"
    outputs = [
        {"name": "prediction", "datatype": kind, "shape": [-1]},
        {"name": "scores", "datatype": "FP64", "shape": [-1, n]},
    ]
    if classes is not None:
        outputs.append({"name": "probabilities", "datatype": "FP64", "shape": [-1, len(classes)]})
    return {"name": name, "versions": [VERSION], "platform": "kernelstream", "inputs": inputs, "outputs": outputs}


def read_inference(body: bytes, length: str | None) -> tuple[Inference, dict[str, np.ndarray]]:
    """The request, and its inputs; `length` is the header that says where raw bytes begin."""
    cut = len(body)
    if length is not None:
        if not (length.isascii() and length.isdecimal() and int(length) <= cut):
            raise Refusal(f"{LENGTH} is {length!r:.40}; it must be the number of bytes before the raw ones.", 400)
        cut = int(length)
    try:
        asked = _decoder.decode(body[:cut])
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise Refusal(f"The body is no inference request: {error}.", 400) from None
    strange = [one.name for one in asked.outputs or () if one.name not in OUTPUTS]
    if strange:
        raise Refusal(f"There is no output {strange[0]!r:.80}; there are {', '.join(OUTPUTS)}.", 400)
    raw, columns = body[cut:], {}
    for tensor in asked.inputs:
        if tensor.name in columns:
            raise Refusal(f"Two inputs are named {tensor.name!r:.80}.", 400)
        columns[tensor.name], raw = _array(tensor, raw)
    if not columns:
        raise Refusal("There is no input; give one at least.", 400)
    return asked, columns


def rows_of(columns: dict[str, np.ndarray], learner: Learner | None) -> Rows:
    """The rows that inputs are for a model; None for one that has learned nothing, whose inputs may be any."""
    first = next(iter(columns.values()))
    names: dict[str, Any] | None = None
    if learner is not None and learner.rows_learned + len(learner.waiting) > 0:
        names = {"x": "x"} if learner.columns is None else {str(name): name for name in learner.columns.names}
        strange = [name for name in columns if name not in names]
        if strange:
            known = ", ".join(list(names)[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
            raise Refusal(f"There is no input {strange[0]!r:.80}; this model has {known}.", 400)
    by_place = learner.columns is None if learner is not None and names is not None else list(columns) == ["x"]
    if by_place and first.ndim == 2 and first.shape[1] >= 1 and first.dtype.kind != "O":
        return Rows(first.astype(np.float64), len(first))
    n = len(first)
    for name, column in columns.items():
        if column.ndim not in (1, 2) or column.size != n or len(column) != n:
            raise Refusal(f"The input {name!r:.80} has shape {list(column.shape)}; it must be [{n}] or [{n}, 1].", 400)
    if n == 0:
        raise Refusal("The inputs have no rows; give one at least.", 400)
    values = {(names or {}).get(name, name): column.reshape(-1).tolist() for name, column in columns.items()}
    return Rows([{name: column[t] for name, column in values.items()} for t in range(n)], n)


def _array(tensor: Tensor, raw: bytes) -> tuple[np.ndarray, bytes]:
    """A tensor's values, and the raw bytes behind its own."""
    size = 1
    for length in tensor.shape:
        size *= length
    if not 1 <= len(tensor.shape) <= 2 or min(tensor.shape) < 0 or size > 10**9:
        raise Refusal(
            f"The input {tensor.name!r:.80} has shape {tensor.shape[:8]}; rows have one or two dimensions.", 400
        )
    if tensor.datatype not in (*KINDS, BYTES):
        raise Refusal(
            f"The datatype {tensor.datatype!r:.40} is not known; there are {', '.join((*KINDS, BYTES))}.", 400
        )
    taken = (tensor.parameters or {}).get("binary_data_size")
    if taken is not None:
        if not (isinstance(taken, int) and 0 <= taken <= len(raw)):
            raise Refusal(
                f"The input {tensor.name!r:.80} has {taken!r:.40} raw bytes, of which {len(raw)} are there.", 400
            )
        values: Any = _raw_values(tensor, raw[:taken])
        raw = raw[taken:]
    else:
        values = _listed(tensor)
    if len(values) != size:
        raise Refusal(f"The input {tensor.name!r:.80} has {len(values)} values; its shape says {size}.", 400)
    return values.reshape(tensor.shape), raw


def _listed(tensor: Tensor) -> np.ndarray:
    values: list[Any] = []
    for value in tensor.data or ():  # nested lists are allowed, and mean the same
        values.extend(value) if isinstance(value, list) else values.append(value)
    if tensor.datatype == BYTES:
        if not all(isinstance(value, str) for value in values):
            raise Refusal(f"The input {tensor.name!r:.80} is BYTES; in JSON its values are text.", 400)
        return np.array(values, object)
    if not all(isinstance(value, int | float) for value in values):
        raise Refusal(f"The input {tensor.name!r:.80} holds what is no number.", 400)
    return np.array([float(value) for value in values])


def _raw_values(tensor: Tensor, raw: bytes) -> np.ndarray:
    if tensor.datatype != BYTES:
        kind = np.dtype(KINDS[tensor.datatype])
        if len(raw) % kind.itemsize:
            raise Refusal(
                f"The input {tensor.name!r:.80} has {len(raw)} raw bytes, no multiple of {kind.itemsize}.", 400
            )
        return np.frombuffer(raw, kind.newbyteorder("<")).astype(np.float64)
    values, at = [], 0
    try:
        while at < len(raw):
            (length,) = struct.unpack_from("<I", raw, at)
            values.append(raw[at + 4 : at + 4 + length].decode())
            at += 4 + length
    except (struct.error, UnicodeError):
        at = -1
    if at != len(raw):
        raise Refusal(f"The raw bytes of the input {tensor.name!r:.80} are no list of texts.", 400)
    return np.array(values, object)


def inferred(name: str, asked: Inference, learner: Learner, scores: np.ndarray) -> tuple[bytes, int | None]:
    """The answer, and where raw bytes begin in it, if there are any."""
    task = learner.task
    found: dict[str, np.ndarray] = {"prediction": task.decode(scores), "scores": scores.astype(np.float64)}
    if isinstance(task, Classification) and not learner.without_labels:
        found["probabilities"] = learner.probabilities_of(scores)
    wanted = {one.name: one.parameters or {} for one in asked.outputs or ()} or {output: {} for output in found}
    binary = bool((asked.parameters or {}).get("binary_data_output", False))
    outputs, raws = [], []
    for output, parameters in wanted.items():
        if output not in found:
            raise Refusal(f"A {task.name} task has no {output}.", 400)
        kind, values = _typed(found[output])
        tensor: dict[str, Any] = {"name": output, "shape": list(values.shape), "datatype": kind}
        if parameters.get("binary_data", binary):
            raws.append(_raw(kind, values))
            tensor["parameters"] = {"binary_data_size": len(raws[-1])}
        else:
            tensor["data"] = values.reshape(-1).tolist()
        outputs.append(tensor)
    told = {"model_name": name, "model_version": VERSION} | ({} if asked.id is None else {"id": asked.id})
    head = encoded(told | {"outputs": outputs})
    return head + b"".join(raws), len(head) if raws else None


def _typed(values: np.ndarray) -> tuple[str, np.ndarray]:
    if values.dtype.kind in "OU":
        return BYTES, values
    if values.dtype.kind in "biu":
        return "INT64", values.astype(np.int64)
    return "FP64", values.astype(np.float64)


def _raw(kind: str, values: np.ndarray) -> bytes:
    if kind != BYTES:
        return values.astype(values.dtype.newbyteorder("<")).tobytes()
    texts = [str(value).encode() for value in values.reshape(-1).tolist()]
    return b"".join(struct.pack("<I", len(text)) + text for text in texts)
