"""Four rows at a time: the bits of one row at a time, whatever happens to the points between the rows."""

import numpy as np
import pytest

from kernelstream import Binary, Learner
from kernelstream.algorithms import make
from kernelstream.kernels import Gaussian, Laplacian, Linear
from kernelstream.laws.agreement import snapshot
from kernelstream.laws.cases import learn_in_blocks
from kernelstream.laws.examples import adjusted, stream
from kernelstream.numerics.compile import compiled
from kernelstream.numerics.rows import complete_row, dense_row
from kernelstream.numerics.tiles import TILE, four_metrics, kernel_tile, metric_column
from kernelstream.tasks import BINARY

DTYPES = ["float32", "float64"]
METRICS = [Linear(), Gaussian(gamma=1.0), Laplacian(gamma=1.0)]


@compiled
def _four(kernel, values, points, cut, out):
    d = points.shape[0]
    four_metrics(kernel, values, points, points.shape[1], 0, min(cut, d), out)
    if cut < d:
        four_metrics(kernel, values, points, points.shape[1], cut, d, out)


@compiled
def _column(kernel, values, points, i, out):
    metric_column(kernel, values, points, i, out)


@compiled
def _one(kernel, x, points, norms, lo, row, wide):
    kernel_tile(kernel, x, points, norms, lo, row, wide)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kernel", METRICS, ids=["dot", "squares", "gaps"])
def test_four_rows_and_one_row_and_one_point_give_the_same_bits(kernel, dtype):
    rng = np.random.default_rng(0)
    record = kernel.lower(dtype)
    plain = record._replace(formula=Linear().lower(dtype).formula)  # metric values as they are
    for d in (1, 3, 4, 7, 34):
        for n, cut in ((1, d), (15, 4), (16, 32), (33, 8), (TILE + 5, 16)):
            X, points = rng.normal(size=(4, d)).astype(dtype), rng.normal(size=(d, n)).astype(dtype)
            together, alone = np.full((4, n), np.nan, dtype), np.full((4, n), np.nan, dtype)
            _four(record, X.reshape(-1), points, cut, together)
            for x, row in zip(X, alone, strict=True):
                scratch = dense_row(d, dtype)
                scratch.values[:] = x
                for lo in range(0, n, TILE):
                    _one(plain, complete_row(scratch), points, np.zeros(n), lo, row[lo : lo + TILE], np.zeros(TILE))
            assert np.array_equal(together, alone)
            for i in {0, n // 2, n - 1}:
                column = np.zeros_like(together)
                _column(record, X.reshape(-1), points, i, column)
                assert np.array_equal(column[1:, i], together[1:, i])


@pytest.mark.parametrize("name", ["rbp", "bsgd-m", "polk"])
def test_rows_shown_before_late_labels_see_every_change(name):
    X, y = stream(BINARY)
    spec = make(name, kernel=Gaussian(gamma=0.3), **({"budget": 12} if name != "polk" else {}))
    late, loop = (Learner(spec, Binary([-1, 1])) for _ in range(2))
    shown = late.learn_late(X[:-3], y[:-3], X[3:])
    expected = []
    for t in range(len(y) - 3):
        expected.append(loop.scores(X[t + 3 : t + 4]))
        loop.learn(X[t : t + 1], y[t : t + 1])
    assert np.array_equal(shown, np.concatenate(expected))
    assert snapshot(late) == snapshot(loop)


@pytest.mark.parametrize(
    "name", ["ogd", "rbp", "bogd", "bsgd-r", "bsgd-m", "projectron", "polk", "avm", "tvm", "lasvm", "koil"]
)
def test_block_size_has_no_effect_on_images(name, data_directory):
    with np.load(data_directory / "mnist" / "mnist.train.npz") as file:
        X, y = file["X"][:240] / 255.0, np.where(file["y"][:240] < 5, -1, 1)
    values = {"budget": 40, "coverage": 8.0}
    spec = adjusted(make(name), kernel=Gaussian(gamma=0.02), **values)
    for dtype in DTYPES:
        whole, single = (Learner(spec, Binary([-1, 1]), dtype=dtype) for _ in range(2))
        assert np.array_equal(whole.learn(X, y), learn_in_blocks(single, X, y, 1))
        assert snapshot(whole) == snapshot(single)
        assert np.array_equal(whole.scores(X), np.concatenate([whole.scores(x[None]) for x in X]))
