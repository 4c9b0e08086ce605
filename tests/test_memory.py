"""The law of memory: a stream takes as much as a block, from whatever file it comes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kernelstream.sources import Source
from kernelstream.sources.writers import convert

ROOT = Path(__file__).parents[1]
ROWS, WIDTH, AT_A_TIME = 400_000, 20, 20_000
MEASURED = """
import re, sys
from pathlib import Path
from kernelstream import FOGD, Learner, Regression
from kernelstream.evaluate import prequential
from kernelstream.sources import ReadAhead, open_source

def megabytes(field):
    return int(re.search(field + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1024

learner = Learner(FOGD(n_components=4), Regression(), grow_features=True)
growth = []
for path in sys.argv[1:]:
    prequential(learner, ReadAhead(open_source(path)))
    growth.append(megabytes("VmHWM"))
print(learner.n_seen, growth[1] - growth[0])
"""


class Made(Source):
    name = "made"

    def __init__(self, rows):
        self.n_rows = rows

    def __iter__(self):
        draws = np.random.default_rng(0)
        for start in range(0, self.n_rows, AT_A_TIME):
            rows = min(AT_A_TIME, self.n_rows - start)
            # Three digits, so that writing and reading text takes little time.
            yield draws.integers(1, 1000, (rows, WIDTH)) / 1000, draws.integers(0, 1000, rows) / 1000

    def progress(self):
        return None


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize("suffix", [".parquet", ".libsvm"])
def test_twenty_times_as_many_rows_take_no_more_memory(tmp_path, suffix):
    few, many = tmp_path / f"few{suffix}", tmp_path / f"many{suffix}"
    for path, rows in ((few, AT_A_TIME), (many, ROWS)):
        assert convert(Made(rows), path) == rows
    run = subprocess.run(
        [sys.executable, "-c", MEASURED, str(few), str(many)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    seen, growth = run.stdout.split()
    held = ROWS * WIDTH * 8 / 2**20
    assert int(seen) == ROWS + AT_A_TIME
    assert float(growth) < held / 2, f"MiB more at the peak; the rows as doubles are {held:.0f}"
