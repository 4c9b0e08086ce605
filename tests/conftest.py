"""What all tests share: how Hypothesis searches, where the real data is, and whether threads are at work."""

import os

# Workers of pytest are one a core: products of matrices that took all of them would only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import threading
from pathlib import Path

import pytest
from hypothesis import settings

from kernelstream.engine import cores

# The same examples on every run: a failure is a change of ours, never of the dice.
settings.register_profile("laws", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("laws")

ROOT = Path(__file__).parents[1]
# Commands that tests start find the data sets where the tests do.
os.environ.setdefault("KERNELSTREAM_DATA", str(ROOT.parent / "shared" / "data"))


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """The local mirror of the papers' datasets."""
    directory = Path(os.environ["KERNELSTREAM_DATA"])
    if not directory.is_dir():
        pytest.skip(f"no datasets at {directory}; set KERNELSTREAM_DATA")
    return directory


@pytest.fixture
def none_is_at_work():
    """Says whether all helpers can be had at once."""

    def ask():
        n = cores._helpers()._max_workers
        together = threading.Barrier(n)
        waiting = [cores.ask(together.wait, 30.0) for _ in range(n)]
        return sorted(one.result() for one in waiting) == list(range(n))

    return ask
