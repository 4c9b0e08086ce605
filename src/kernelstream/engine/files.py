"""Model files: arrays and JSON in one zip, never pickle; loading one runs no code.

A file is an uncompressed zip of ``model.json`` and one ``.npy`` an array. Members are stored, not deflated: a file can
hold no more than its own length, so a hostile one cannot unfold. A model has parts (its state, its inputs, the models
that it is made of), whose arrays go by the part's name, a dot, and their own.
"""

import contextlib
import io
import json
import os
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..extras import MissingExtra
from . import disk
from .state import ModelFileError, NoModelFile

FORMAT = "kernelstream model"
VERSION = 6
_HEADER = "model.json"


def joined(parts: dict[str, dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays of all parts, by part and name."""
    return {f"{part}.{name}": array for part, arrays in parts.items() for name, array in arrays.items()}


def part(arrays: dict[str, np.ndarray], name: str) -> dict[str, np.ndarray]:
    """The arrays of one part, by their own names."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): array for key, array in arrays.items() if key.startswith(prefix)}


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write a model file; a crash at any moment leaves the old file or the new one, whole."""
    text = json.dumps({"format": FORMAT, "version": VERSION, **header}, allow_nan=False, indent=1)
    with disk.appearing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_HEADER, text)
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a model file."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if any(m.compress_type != zipfile.ZIP_STORED for m in members) or _HEADER not in archive.namelist():
                raise ModelFileError(f"{path} is a zip file but not a kernelstream model.")
            # NaN and infinity, which nobody writes, are words, and no form takes these for numbers.
            header = json.loads(archive.read(_HEADER), parse_constant=str)
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
        raise NoModelFile(f"No model file {path}.") from None
    except Exception as error:  # whatever a reader stumbles over, it is the file's
        raise damaged(path, error) from None


@contextlib.contextmanager
def named(path: str | os.PathLike[str]) -> Iterator[None]:
    """What is wrong with what a file holds is told with its name."""
    try:
        yield
    except ValueError as error:
        raise ModelFileError(f"{path}: {error}") from None


def damaged(path: str | os.PathLike[str], reason: Exception) -> Exception:
    """The refusal of a file that this went wrong with; of what is not installed, itself."""
    if isinstance(reason, MissingExtra):
        return reason
    if isinstance(reason, ModelFileError):
        return ModelFileError(f"{path} is no model that can be loaded. {reason}")
    if isinstance(reason, MemoryError):
        return ModelFileError(f"There is not enough memory to load {path}.")
    return ModelFileError(f"{path} is damaged or not a kernelstream model ({str(reason) or type(reason).__name__}).")


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
