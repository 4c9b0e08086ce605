"""Model files: arrays and JSON in one zip, never pickle; loading one runs no code.

A file is an uncompressed zip of ``model.json`` and one ``.npy`` a leaf of the state. Members are stored, not
deflated: a file can hold no more than its own length, so a hostile one cannot unfold. Arrays are checked against the
shapes and types that the header's spec implies. Writing goes to a new file beside the old one, which is then replaced
in one
step.
"""

import io
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "kernelstream model"
VERSION = 4
_HEADER = "model.json"
_LINE = 64  # bytes of a cache line

# Fields of a state that follow from the others: no file holds them, and none is believed about them.
DERIVED = ("present",)


class ModelFileError(ValueError):
    """A file is not a model that can be loaded; the message says why."""


def leaves(state: Any, prefix: str = "", *, derived: bool = False) -> dict[str, np.ndarray]:
    """The arrays of a nested NamedTuple by their dotted names; those that follow from others only if asked for."""
    found: dict[str, np.ndarray] = {}
    for name, value in zip(state._fields, state, strict=True):
        if hasattr(value, "_fields"):
            found.update(leaves(value, f"{prefix}{name}.", derived=derived))
        elif derived or name not in DERIVED:
            found[prefix + name] = value
    return found


def rebuilt(state: Any, arrays: dict[str, np.ndarray], prefix: str = "") -> Any:
    """A NamedTuple of the same kind as `state` from named arrays, all of them."""
    parts = [
        rebuilt(value, arrays, f"{prefix}{name}.") if hasattr(value, "_fields") else arrays[prefix + name]
        for name, value in zip(state._fields, state, strict=True)
    ]
    return type(state)(*parts)


def aligned(array: np.ndarray) -> np.ndarray:
    """The same numbers from the start of a cache line on, a copy where the array does not lie so.

    NumPy puts arrays at multiples of 16 bytes: a SIMD load then often straddles two lines and takes twice as long.
    """
    if array.nbytes < _LINE or array.__array_interface__["data"][0] % _LINE == 0:
        return array
    room = np.empty(array.nbytes + _LINE, np.uint8)
    first = -room.__array_interface__["data"][0] % _LINE
    moved = room[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def on_lines(parts: Any) -> Any:
    """The NamedTuple with its arrays aligned; a scalar, as NumPy makes of a sum of 0-d arrays, becomes one of them."""
    found = leaves(parts, derived=True).items()
    return rebuilt(parts, {name: part if isinstance(part, int) else aligned(np.asarray(part)) for name, part in found})


def copied(parts: Any) -> Any:
    """The NamedTuple with copies of its arrays."""
    return rebuilt(parts, {name: part.copy() for name, part in leaves(parts, derived=True).items()})


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a model file; a crash at any moment leaves the old file or the new one, whole."""
    target = Path(path)
    text = json.dumps({"format": FORMAT, "version": VERSION, **header}, allow_nan=False, indent=1)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr(_HEADER, text)
                for name, array in arrays.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a model file."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if any(m.compress_type != zipfile.ZIP_STORED for m in members) or _HEADER not in archive.namelist():
                raise ModelFileError(f"{path} is a zip file but not a kernelstream model.")
            header = json.loads(archive.read(_HEADER))
            if not isinstance(header, dict) or header.get("format") != FORMAT:
                raise ModelFileError(f"{path} is a zip file but not a kernelstream model.")
            if header.get("version") != VERSION:
                raise ModelFileError(
                    f"{path} has format version {header.get('version')!r}; this release reads version {VERSION}. "
                    "Load it with the release that wrote it."
                )
            arrays = {}
            for member in members:
                if member.filename.endswith(".npy"):
                    arrays[member.filename[:-4]] = _array(archive.read(member))
            return header, arrays
    except ModelFileError:
        raise
    except FileNotFoundError:
        raise FileNotFoundError(f"No model file {path}.") from None
    except (
        zipfile.BadZipFile,
        ValueError,
        KeyError,
        EOFError,
        NotImplementedError,
        RuntimeError,
        RecursionError,
    ) as error:
        raise ModelFileError(f"{path} is damaged or not a kernelstream model ({error}).") from None


def _array(data: bytes) -> np.ndarray:
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    reader = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, fortran, dtype = reader(stream)
    rest = len(data) - stream.tell()
    expected = dtype.itemsize
    for length in shape:
        expected *= length
    if fortran or dtype.hasobject or expected != rest:
        raise ValueError("an array's header does not fit its data")
    return np.frombuffer(data, dtype, offset=stream.tell()).reshape(shape).copy()


def restored(template: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A state like `template` from a file's arrays; anything that could not have been written is refused.

    What follows from others is still the template's.
    """
    expected = leaves(template)
    if set(expected) != set(arrays):
        raise ModelFileError(f"The file's arrays {sorted(arrays)} are not the model's {sorted(expected)}.")
    for name, array in arrays.items():
        like = expected[name]
        if array.dtype != like.dtype or array.shape != like.shape:
            raise ModelFileError(
                f"The file's array {name} is {array.dtype}{list(array.shape)}; "
                f"the model needs {like.dtype}{list(like.shape)}."
            )
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ModelFileError(f"The file's array {name} holds NaN or infinity.")
    return rebuilt(template, {**leaves(template, derived=True), **arrays})
