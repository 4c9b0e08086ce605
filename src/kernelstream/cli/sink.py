"""Predictions as messages of a server: an object of JSON a row."""

import contextlib
import json
from typing import Any

import numpy as np

from ..sources.servers import open_server


class Sink(contextlib.AbstractContextManager["Sink"]):
    """A stream to which predictions are sent. It has them when a call returns, so before the model is kept."""

    def __init__(self, url: str):
        self._server = open_server(url)

    def __exit__(self, *error: Any) -> None:
        self._server.close()

    def send(self, row: int, labels: np.ndarray) -> None:
        """What was predicted of the rows from number `row` on."""
        self.send_values(row, ["prediction"], [(label,) for label in plain(labels)])

    def send_values(self, row: int, names: list[str], rows: list[tuple[Any, ...]]) -> None:
        texts = [
            json.dumps({"row": row + at} | dict(zip(names, values, strict=True))).encode()
            for at, values in enumerate(rows)
        ]
        self._server.send(texts)


def plain(labels: np.ndarray) -> list[Any]:
    """Labels as they were in the data: whole numbers without a point."""
    whole = labels.dtype.kind == "f" and bool((labels == np.floor(labels)).all())
    return (labels.astype(np.int64) if whole else labels).tolist()
