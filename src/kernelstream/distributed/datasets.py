"""A Ray Dataset as a stream: each of its blocks is a piece, which its worker gets from the cluster's memory."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..extras import needing
from ..sources import ChainedSource, Source
from ..sources.arrow import BatchSource
from ..sources.base import DEFAULT_BLOCK_ROWS
from ..sources.columns import ColumnOptions

with needing("ray"):
    import ray


class BlockSource(BatchSource):
    """One block, by the reference that stands for its Arrow table."""

    def __init__(self, reference: Any, number: int, n_bytes: int, label: str | int | None):
        self._reference, self._n_bytes = reference, n_bytes
        super().__init__(f"block {number}", block_rows=DEFAULT_BLOCK_ROWS, label=label, columns=ColumnOptions())

    def _located(self, path: Any) -> Path:
        return Path(path)

    @property
    def n_bytes(self) -> int:  # type: ignore[override]
        return self._n_bytes

    def _seekable_file(self) -> Path:
        return self.path

    @contextlib.contextmanager
    def _batches(self, file: str) -> Iterator[tuple[Any, Iterator[Any]]]:
        table = ray.get(self._reference)
        yield table.schema, iter(table.to_batches(max_chunksize=self.block_rows))


def dataset_source(dataset: Any, label: str | int | None) -> Source:
    """The blocks of a Dataset, which is carried out for it."""
    if label is None:
        raise ValueError(f"label=None: say which column of {', '.join(dataset.columns())} holds the labels.")
    tables = dataset.to_arrow_refs()
    sizes = ray.get([_size.remote(table) for table in tables])
    blocks = [BlockSource(table, i, n, label) for i, (table, n) in enumerate(zip(tables, sizes, strict=True)) if n > 0]
    return ChainedSource(blocks, name="dataset")


@ray.remote(num_cpus=0)
def _size(table: Any) -> int:
    return int(table.nbytes) if table.num_rows else 0
