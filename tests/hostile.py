"""Model files with one number changed, loaded and used; run by `test_hostile_files`, interpreted, where an index out of
bounds raises.

A file is refused by name, or its model learns and predicts finite numbers: anything else is printed. Of the learners
that are named all changes are tried; without names of all learners, but of auto's file, which takes long, one of four.
"""

import io
import json
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from kernelstream import ALGORITHMS, Binary, Learner, Multiclass, Regression, make
from kernelstream.engine.state import ModelFileError
from kernelstream.kernels import Gaussian
from kernelstream.laws.examples import adjusted

SIZES = {"budget": 4, "rank": 2, "n_components": 3, "batch_size": 3, "size": "small"}
TASKS = {"binary": Binary([0, 1]), "multiclass": Multiclass(range(3)), "regression": Regression()}
HEADERS = ("fogd", "nogd", "bsgd-m", "polk", "bpa-nn", "rrf")  # the others have the same fields
FAR = (0, 1, -1, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63))


def rows(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, (X.sum(axis=1) > 0) + (X[:, 0] > 1.0)


def labels(task, y):
    return np.minimum(y, 1) if task == "binary" else y


def learners():
    """Every learner on one of the tasks that it does, the next one's turn each time, with budgets that a few rows
    fill.
    """
    for i, name in enumerate(ALGORITHMS):
        spec = adjusted(make(name, kernel=Gaussian(0.3)), **SIZES)
        yield name, spec.tasks[i % len(spec.tasks)], spec


def packed(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def contents_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_member(contents, name, data, path):
    with zipfile.ZipFile(path, "w") as archive:
        for member, old in contents.items():
            archive.writestr(member, data if member == name else old)


def array_changes(contents):
    """(what, member, data): every whole number of every array, of long ones the first and the last, as its neighbours
    and as what is far off; some of the others as numbers that are too large, or of the wrong sign.
    """
    for name, data in contents.items():
        if not name.endswith(".npy"):
            continue
        array = np.load(io.BytesIO(data))
        places = list(np.ndindex(array.shape))
        if array.dtype.kind == "f":
            largest = np.finfo(array.dtype).max
            places, far = places[:1], (0.0, -1.0, 1e20, largest)
        elif array.dtype.kind == "i":
            far = FAR
            places = places if len(places) <= 64 else places[:4] + places[-4:]
        else:
            continue
        for place in places:
            now = array[place].item()
            for value in {now - 1, now + 1, now + 2, *far} if array.dtype.kind == "i" else far:
                if value == now or (array.dtype.kind == "i" and not fits(value, array.dtype)):
                    continue
                other = array.copy()
                other[place] = value
                yield f"{name}{list(place)} {now} -> {value}", name, packed(other)


def fits(value, dtype):
    return np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


def header_changes(contents):
    """(what, member, data): every value of the header as another of its kind, or of another kind."""
    header = json.loads(contents["model.json"])

    def places(record, path=()):
        for key, value in record.items() if isinstance(record, dict) else enumerate(record):
            yield (*path, key)
            if isinstance(value, dict | list):
                yield from places(value, (*path, key))

    for path in places(header):
        for value in (None, "x", [], {}, -1, 0, 1, 7, 0.5, 1e39, 1e300, -1e300, "inf", 3_000_000, 2**63, 10**30, True):
            other = json.loads(contents["model.json"])
            part = other
            for key in path[:-1]:
                part = part[key]
            if part[path[-1]] != value:
                part[path[-1]] = value
                yield f"{path} -> {value!r}", "model.json", json.dumps(other).encode()


def outcome(path, task):
    """What comes of a file: refused, or used; anything else is an error that ought not to be."""
    try:
        learner = Learner.load(path)
    except ModelFileError as refusal:
        return "refused" if path.name in str(refusal) else f"does not name the file: {refusal}"
    X, y = rows(6, 9)
    try:
        if isinstance(learner.task, Regression) or learner.task.positions(labels(task, y))[1].all():
            learner.learn(X, labels(task, y))
        scores = learner.scores(X)
    except FloatingPointError:
        return "diverged"
    except Exception as error:
        # What Python's arithmetic refuses is infinite or NaN when it is compiled.
        of_reals = isinstance(error, OverflowError) or "math domain error" in str(error)
        return "diverged" if of_reals else f"{type(error).__name__}: {error}"
    return "used" if np.isfinite(scores).all() else "scores that are not finite"


def main(names):
    counts = {}
    folder = Path(tempfile.mkdtemp())
    for name, task, spec in learners():
        if names and name not in names:
            continue
        path = folder / "model.ks"
        learner = Learner(spec, TASKS[task], threads=1)
        X, y = rows(30, 1)
        learner.learn(X, labels(task, y))
        learner.save(path)
        contents = contents_of(path)
        changes = list(array_changes(contents))[:: 4 if name == "auto" and not names else 1]
        if name in HEADERS:
            changes += header_changes(contents)
        for what, member, data in changes:
            with_member(contents, member, data, path)
            found = outcome(path, task)
            if found not in ("refused", "used", "diverged"):
                print(f"{name} {task} {what}: {found}")
                found = "wrong"
            counts[found] = counts.get(found, 0) + 1
    print(json.dumps(counts))
    sys.exit("wrong" in counts)


if __name__ == "__main__":
    main(sys.argv[1:])
