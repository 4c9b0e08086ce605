"""Fingerprints of what every learner computes, to hold a change of the code to "no bit differs".

    python -m benchmarks.snapshot write before.json      # at one commit
    python -m benchmarks.snapshot compare before.json    # at another: names every case that differs
    python -m benchmarks.snapshot compare before.json fogd nogd

A case is a learner, a task, a loss, a precision and a storage, with a fixed kernel and with the default one. Of each,
the scores before every row, the scores of other rows, and the arrays of the model file are kept: learned in one go,
saved half way and resumed, and merged. Arrays of a file are compared by content, so that a field may be renamed.
"""

import hashlib
import json
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kernelstream import ALGORITHMS, FOGD, Binary, Learner, Multiclass, Regression
from kernelstream.kernels import Gaussian

ROWS, WIDTH = 600, 9
TASKS: dict[str, Any] = {
    "binary": Binary([-1, 1]),
    "multiclass": Multiclass(["a", "b", "c", "d"]),
    "regression": Regression(),
}
SPECS = {**ALGORITHMS, "fogd-structured": FOGD(map="structured")}


def rows(storage: str, task: str, seed: int = 1) -> tuple[Any, np.ndarray]:
    """Rows with a nonlinear truth and a quarter of the labels wrong, so that budgets are reached."""
    rng = np.random.default_rng(seed)
    width = WIDTH if storage == "dense" else 80
    X = rng.normal(size=(ROWS, width))
    if storage == "sparse":
        X = np.where((rng.random(X.shape) < 0.08) | (np.arange(width) == 0), X, 0.0)
    truth = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=ROWS)
    if task == "regression":
        y = np.sin(truth)
    elif task == "binary":
        y = np.where(truth > 0, 1, -1)
    else:
        y = np.array(["a", "b", "c", "d"])[np.digitize(truth, [-0.8, 0.0, 0.8])]
    return sp.csr_array(X) if storage == "sparse" else X, y


def cases() -> Iterator[tuple[str, Any, str, str, str]]:
    for name, spec in SPECS.items():
        for task in spec.tasks:
            losses = spec.losses(task) if hasattr(spec, "loss") else ("auto",)
            for loss in losses:
                for kernel in (Gaussian(gamma=0.3), spec.kernel):
                    fixed = "fixed" if kernel.gamma == 0.3 else "default"
                    if fixed == "default" and loss != losses[0]:
                        continue
                    chosen = replace(spec, kernel=kernel, **({"loss": loss} if hasattr(spec, "loss") else {}))
                    for dtype in ("float32", "float64"):
                        for storage in ("dense", "sparse"):
                            yield f"{name} {task} {loss} {fixed} {dtype} {storage}", chosen, task, dtype, storage


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def arrays(learner: Learner, path: Path) -> list[str]:
    """The fingerprints of a model file's arrays, sorted, each with its name."""
    learner.save(path)
    with zipfile.ZipFile(path) as file:
        found = {name[:-4]: digest(file.read(name)) for name in file.namelist() if name.endswith(".npy")}
    return sorted(f"{content} {name}" for name, content in found.items())


def fingerprint(spec: Any, task: str, dtype: str, storage: str, folder: Path) -> dict[str, Any]:
    X, y = rows(storage, task)
    probe, _ = rows(storage, task, seed=2)
    path, half, found = folder / "model.ks", ROWS // 2 + 1, {}

    def fresh() -> Learner:
        return Learner(spec, TASKS[task], seed=3, dtype=dtype)

    try:
        learner = fresh()
        found["scores"] = digest(np.asarray(learner.learn(X, y)).tobytes())
        found["probe"] = digest(np.asarray(learner.scores(probe)).tobytes())
        found["state"] = arrays(learner, path)
        first = fresh()
        first.learn(X[:half], y[:half])
        first.save(path)
        resumed = Learner.load(path)
        found["resumed"] = digest(np.asarray(resumed.learn(X[half:], y[half:])).tobytes())
        other = fresh()
        other.learn(X[half:], y[half:])
        first.merge(other)
        found["merged"] = digest(np.asarray(first.scores(probe)).tobytes())
        found["merged state"] = arrays(first, path)
        found["after merging"] = digest(np.asarray(first.learn(X, y)).tobytes())
    except (ValueError, FloatingPointError) as error:
        found["error"] = type(error).__name__
    return found


def differing(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    parts = []
    for part in {**before, **now}:
        a, b = before.get(part), now.get(part)
        if isinstance(a, list) and isinstance(b, list):
            if sorted(x.split()[0] for x in a) != sorted(x.split()[0] for x in b):
                gone = [x.split()[1] for x in a if x.split()[0] not in {z.split()[0] for z in b}]
                new = [x.split()[1] for x in b if x.split()[0] not in {z.split()[0] for z in a}]
                parts.append(f"{part} ({', '.join(gone)} -> {', '.join(new)})")
        elif a != b:
            parts.append(part)
    return parts


def of_a_learner(learner: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        return {
            name: fingerprint(spec, task, dtype, storage, Path(folder))
            for name, spec, task, dtype, storage in cases()
            if name.split()[0] == learner
        }


def main(verb: str, file: str, *only: str) -> int:
    """Compiling takes most of the time, and goes by processes."""
    now: dict[str, Any] = {}
    with ProcessPoolExecutor() as processes:
        for found in processes.map(of_a_learner, only or SPECS):
            now |= found
    if verb == "write":
        Path(file).write_text(json.dumps(now, indent=0))
        print(f"{len(now)} cases written to {file}")
        return 0
    before = {
        name: kept for name, kept in json.loads(Path(file).read_text()).items() if name.split()[0] in (only or SPECS)
    }
    changed = {
        name: parts for name in {**before, **now} if (parts := differing(before.get(name, {}), now.get(name, {})))
    }
    for name, parts in changed.items():
        print(f"{name}: {', '.join(parts)}")
    print(f"{len(now) - len(changed)} of {len(before)} cases are the same, bit for bit")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
