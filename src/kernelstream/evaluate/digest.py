"""A digest of rows and labels that does not depend on how they come in blocks."""

import hashlib
from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..forms import pattern
from ..sources import Matrix

digest_form = pattern("32 hexadecimal digits", r"[0-9a-f]{32}")


class Digest:
    """What was read, in 32 hexadecimal digits."""

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {}

    def add(self, X: Matrix, y: np.ndarray) -> None:
        if issparse(X):
            self._add("values", X.data)
            self._add("indices", X.indices.astype(np.int64))
            self._add("lengths", np.diff(X.indptr).astype(np.int64))
        else:
            self._add("rows", X)
        if y.dtype.kind == "U":  # as wide as the longest word of a block
            self._part("labels").update("".join(f"{label}\0" for label in y.tolist()).encode())
        else:
            self._add("labels", y)

    def value(self) -> str:
        whole = hashlib.blake2b(digest_size=16)
        for name, part in sorted(self._parts.items()):
            whole.update(name.encode() + part.digest())
        return whole.hexdigest()

    def _add(self, name: str, array: np.ndarray) -> None:
        self._part(name).update(np.ascontiguousarray(array).data)

    def _part(self, name: str) -> Any:
        return self._parts.setdefault(name, hashlib.blake2b(digest_size=16))
