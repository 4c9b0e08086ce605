"""What nobody would hand in on purpose: mutated model files, checkpoints, rows, data files and command lines, by the
thousand.

    python -m benchmarks.fuzz [models rows files commands checkpoints] [--cases N] [--seed S]

Every case is a function of (part, seed, number). It ends well when what was handed in is refused by the error that is
for it, or gives finite numbers; for what carries a checksum, the numbers that were written. What else there is counts:
a crash of the process, numbers that silently differ, numbers that are not finite, an error that a user would see as a
traceback, a refusal that changed the model. Cases run in processes of their own, interpreted, where an index out of
bounds raises instead of reading what lies there; one that takes longer than a minute counts as a crash.
"""

import argparse
import io
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

PARTS = ("models", "rows", "files", "commands", "checkpoints")
BAD = ("crash", "silent difference", "not finite", "traceback", "changed by a refusal")
GOOD = ("refused", "taken")
# Of 100,000 cases: what one costs differs.
SHARES = {"models": 0.4, "rows": 0.3, "files": 0.28, "commands": 0.01, "checkpoints": 0.01}
_AT_A_TIME = 500
_READ = ("--config", "--orders", "--test")
_PATIENCE = 60.0
_EXTREMES = (0, 1, -1, 2, 7, 255, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, -(2**63))
_REALS = (0.0, -0.0, 1e-300, 1e15, 1e20, 1e39, 1e300, -1e300, np.inf, -np.inf, np.nan)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--cases", type=int, default=100_000, help="in all, over the parts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", nargs=2, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return _child(given.parts[0], given.seed, *given.child)
    whole = sum(SHARES[part] for part in given.parts)
    bad = 0
    for part in given.parts:
        start, n = time.monotonic(), max(1, round(given.cases * SHARES[part] / whole))
        counts, examples = run(part, given.seed, n)
        told = ", ".join(f"{counts[word]:,} {word}" for word in (*GOOD, *BAD))
        print(f"{part}: {n:,} cases in {time.monotonic() - start:.0f} s: {told}", flush=True)
        for number, outcome, what in examples[:20]:
            print(f"  {part} {number}: {outcome}: {what}")
        bad += sum(counts[word] for word in BAD)
    return 1 if bad else 0


def run(part: str, seed: int, n: int) -> tuple[Counter[str], list[tuple[int, str, str]]]:
    """Count how the first n cases of a part end; those that end badly are told with their numbers."""
    counts: Counter[str] = Counter()
    examples: list[tuple[int, str, str]] = []
    first = 0
    while first < n:
        last = min(first + _AT_A_TIME, n)
        for number, outcome, what in _outcomes(part, seed, first, last):
            counts[outcome] += 1
            first = number + 1
            if outcome in BAD:
                print(f"{part} {number}: {outcome}: {what}", file=sys.stderr, flush=True)
                examples.append((number, outcome, what))
    return counts, examples


def _outcomes(part: str, seed: int, first: int, last: int) -> Iterator[tuple[int, str, str]]:
    """The outcomes of some cases, up to the first that ends their process."""
    command = _command(part, "--seed", str(seed), "--child", str(first), str(last))
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "OPENBLAS_NUM_THREADS": "1"}
    with (
        tempfile.TemporaryFile("w+") as told,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, text=True, env=environment) as process,
    ):
        assert process.stdout is not None
        done = first
        for line in process.stdout:
            number, outcome, what = json.loads(line)
            yield number, outcome, what
            done = number + 1
        process.wait()
        if done < last:
            told.seek(0)
            yield done, "crash", f"exit {process.returncode}: {told.read()[-300:]}"


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "benchmarks.fuzz", *arguments]


def _child(part: str, seed: int, first: int, last: int) -> int:
    import faulthandler
    import warnings

    warnings.simplefilter("ignore")
    # Outcomes go where nothing else writes: a command line may name /dev/stdout.
    with os.fdopen(os.dup(1), "w") as outcomes, tempfile.TemporaryDirectory() as folder:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
        case = {"models": Models, "rows": Rows, "files": Files, "commands": Commands, "checkpoints": Checkpoints}[part](
            Path(folder)
        )
        for number in range(first, last):
            faulthandler.dump_traceback_later(_PATIENCE, exit=True)
            outcome, what = case(np.random.default_rng([seed, PARTS.index(part), number]))
            print(json.dumps([number, outcome, what[:300]]), file=outcomes, flush=True)
    faulthandler.cancel_dump_traceback_later()
    return 0


def _ending(work: Callable[[], tuple[str, str]], expected: tuple[type[BaseException], ...]) -> tuple[str, str]:
    try:
        return work()
    except expected as error:
        return "refused", str(error)
    except Exception as error:
        return "traceback", f"{type(error).__name__}: {error}"


def _pick(rng: np.random.Generator, values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _made(name: str, task: str) -> tuple[Any, Any]:
    """A small learner of a task, and labels of the rows that it has learned and of some more; always the same."""
    from kernelstream import Binary, Learner, Multiclass, Regression, make
    from kernelstream.laws.examples import adjusted

    tasks = {"binary": Binary([-1, 1]), "multiclass": Multiclass([0, 1, 2]), "regression": Regression()}
    X = _rows()
    labels = {
        "binary": np.sign(X[:, 0] * X[:, 1]),
        "multiclass": np.random.default_rng(1).integers(0, 3, len(X)),
        "regression": X[:, 0],
    }[task]
    learner = Learner(adjusted(make(name), budget=8, n_components=12, rank=4, size="small"), tasks[task], threads=1)
    learner.learn(X[:40], labels[:40])
    return learner, labels


def _rows() -> Any:
    return np.random.default_rng(0).normal(size=(60, 3))


def _algorithms() -> list[tuple[str, str]]:
    """Every learner with each of its tasks."""
    from kernelstream import ALGORITHMS

    return [(name, task) for name, spec in ALGORITHMS.items() for task in spec.tasks]


class Models:
    """Files of small models, of which a byte, a number of an array or a value of the header is another."""

    def __init__(self, folder: Path):
        self.X, self.folder = _rows(), folder
        self.files: dict[tuple[str, str], tuple[bytes, Any]] = {}

    def file(self, name: str, task: str) -> tuple[bytes, Any]:
        """One that is whole, and labels to go on with."""
        if (name, task) not in self.files:
            learner, labels = _made(name, task)
            learner.save(self.folder / "whole.ks")
            self.files[name, task] = (self.folder / "whole.ks").read_bytes(), labels[40:46]
        return self.files[name, task]

    def __call__(self, rng: np.random.Generator) -> tuple[str, str]:
        from kernelstream import Learner
        from kernelstream.engine.state import ModelFileError

        name, task = _pick(rng, _algorithms())
        data, y = self.file(name, task)
        path = self.folder / "m.ks"
        path.write_bytes(self.mutated(rng, data))

        def load() -> tuple[str, str]:
            learner = Learner.load(path)
            outcome, what = _ending(lambda: use(learner), (ValueError, FloatingPointError))
            return outcome, f"{name} {task}: {what}"

        def use(learner: Any) -> tuple[str, str]:
            X = self.X[40:46, : learner.width] if learner.width <= 3 else np.zeros((6, learner.width))
            for _ in range(2):
                if not np.isfinite(learner.scores(X)).all():
                    return "not finite", "scores"
                learner.learn(X, y)
            return "taken", ""

        return _ending(load, (ModelFileError,))

    def mutated(self, rng: np.random.Generator, data: bytes) -> bytes:
        if rng.random() < 0.2:
            return _scratched(rng, data)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = _pick(rng, sorted(members)) if rng.random() < 0.8 else "model.json"
        if name == "model.json":
            members[name] = json.dumps(_changed(rng, json.loads(members[name]))).encode()
        else:
            members[name] = _array(rng, members[name])
        if rng.random() < 0.05:
            del members[_pick(rng, sorted(members))]
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return out.getvalue()


def _scratched(rng: np.random.Generator, data: bytes) -> bytes:
    """A bit flipped, the end cut off, some bytes put in, or a piece said twice."""
    at, kind = int(rng.integers(max(len(data), 1))), rng.random()
    if kind < 0.5 and data:
        changed = bytearray(data)
        changed[at] ^= 1 << int(rng.integers(8))
        return bytes(changed)
    if kind < 0.7:
        return data[:at]
    if kind < 0.9:
        return data[:at] + rng.bytes(int(rng.integers(1, 9))) + data[at:]
    return data[:at] + data[max(0, at - 50) :]


def _changed(rng: np.random.Generator, value: Any) -> Any:
    """A JSON value of which one number, word or part is another."""
    if isinstance(value, dict) and value and rng.random() < 0.95:
        key = _pick(rng, sorted(value))
        if rng.random() < 0.05:
            return {name: part for name, part in value.items() if name != key}
        return value | {key: _changed(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = int(rng.integers(len(value)))
        return [*value[:at], _changed(rng, value[at]), *value[at + 1 :]]
    return _pick(rng, (None, True, "", "x", [], {}, 3.5, 1e308, -1.0, *_EXTREMES))


def _array(rng: np.random.Generator, content: bytes) -> bytes:
    array = np.load(io.BytesIO(content), allow_pickle=False)
    kind = rng.random()
    if kind < 0.1:
        array = array[()] if array.ndim == 0 else array[:-1] if len(array) else np.zeros(3)
    elif kind < 0.2:
        array = array.astype(_pick(rng, ("float32", "float64", "int64", "int8", "U3", "bool")))
    elif array.size:
        array = array.copy()
        at = int(rng.integers(array.size))
        if array.dtype.kind in "iu":
            near = int(array.flat[at]) + _pick(rng, (-1, 1))
            word = _pick(rng, (near, *_EXTREMES)) % 2 ** (8 * array.itemsize)
            array.flat[at] = np.frombuffer(word.to_bytes(array.itemsize, "little"), array.dtype)[0]
        elif array.dtype.kind == "f":
            with np.errstate(over="ignore"):
                array.flat[at] = np.float64(_pick(rng, _REALS)).astype(array.dtype)
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


class Rows:
    """Rows, labels and weights of every dtype, shape and size, for learners that have learned before."""

    def __init__(self, folder: Path):
        self.X, self.folder = _rows(), folder

    def __call__(self, rng: np.random.Generator) -> tuple[str, str]:
        from kernelstream import Learner

        name, task = _pick(rng, _algorithms())
        path = self.folder / f"{name}-{task}.ks"
        if not path.exists():
            _made(name, task)[0].save(path)
        learner = Learner.load(path)
        n = int(rng.integers(0, 6))
        X = _odd(rng, rng.normal(size=(n, _pick(rng, (3, 3, 3, 3, 2, 4)))))
        if getattr(X, "dtype", None) == np.float64 and X.ndim == 2 and rng.random() < 0.3:
            X = _sparse(rng, X)
        labels = {"binary": np.sign(rng.normal(size=n)), "multiclass": rng.integers(0, 3, n).astype(np.float64)}
        y = _odd(rng, labels.get(task, rng.normal(size=n)))
        weight = _odd(rng, rng.random(n)) if rng.random() < 0.3 else None
        before = learner.to_parts()

        def learn() -> tuple[str, str]:
            scores = learner.learn(X, y, sample_weight=weight)
            finite = np.isfinite(scores).all() and np.isfinite(learner.scores(self.X)).all()
            return ("taken", "") if finite else ("not finite", "scores")

        outcome, what = _ending(learn, (ValueError, TypeError, FloatingPointError))
        if outcome == "refused":
            # A step that is not taken ends a call; the rows before it are learned, as they would be alone.
            other, reached = Learner.load(path), learner.n_seen - 40
            if reached > 0:
                other.learn(X[:reached], y[:reached], weight if np.ndim(weight) == 0 else weight[:reached])
                before = other.to_parts()
            if _differ(before, learner.to_parts()):
                outcome = "changed by a refusal"
        return outcome, f"{name} {task}: {what}"


def _sparse(rng: np.random.Generator, rows: Any) -> Any:
    """The rows as a sparse matrix, one of whose places may be another."""
    made = csr_matrix(rows).asformat(_pick(rng, ("csr", "csc", "bsr")))
    places = _pick(rng, (made.indices, made.indptr))
    if places.size and rng.random() < 0.7:
        places[int(rng.integers(places.size))] = _pick(rng, (-1, 0, 1, 2, 3, 30, 2**31 - 1))
    return made


def _differ(parts: Any, others: Any) -> bool:
    """Whether two learners know different things, bit for bit."""
    (header, arrays), (said, theirs) = parts, others
    return header != said or any(array.tobytes() != theirs[name].tobytes() for name, array in arrays.items())


def _odd(rng: np.random.Generator, values: Any) -> Any:
    """Mostly as they are; else with an extreme, of another dtype, shape or container."""
    kind = rng.random()
    if kind < 0.4:
        return values
    if kind < 0.7 and values.size:
        values = values.copy()
        values.flat[int(rng.integers(values.size))] = _pick(rng, _REALS)
        return values
    if kind < 0.85:
        dtype = _pick(rng, ("float16", "float32", "int8", "uint64", "bool", "complex64", "U8", "O", "datetime64[s]"))
        return values.astype("int64").astype(dtype) if dtype[0] == "d" else values.astype(dtype)
    if kind < 0.95:
        return _pick(
            rng, (values.T, values[None], values.ravel(), values[:-1], values.tolist(), np.asfortranarray(values))
        )
    return _pick(rng, (None, "text", 3, [], [[]], [None], [["a", 1]], {}, np.array(1.0)))


class Files:
    """Data files of every format, scratched."""

    def __init__(self, folder: Path):
        from kernelstream.sources import ArraySource
        from kernelstream.sources.formats import SUFFIXES
        from kernelstream.sources.writers import convert

        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, 3)).round(2)
        self.folder, self.files = folder, []
        for suffix in SUFFIXES:
            for y in (X[:, 0], np.where(X[:, 0] > 0, "yes", "no")):
                if y.dtype.kind == "U" and ".npy" in suffix:
                    continue
                path = folder / f"whole{suffix}"
                convert(ArraySource(X, y), path)
                # Of the plain formats, only archives and Parquet have checksums.
                checked = suffix.endswith((".gz", ".bz2", ".xz", ".zst", ".npz", ".parquet"))
                self.files.append((suffix, path.read_bytes(), self._read(path) if checked else None))

    def __call__(self, rng: np.random.Generator) -> tuple[str, str]:
        from kernelstream.sources import SourceError

        suffix, data, expected = _pick(rng, self.files)
        path = self.folder / f"rows{suffix}"
        path.write_bytes(_scratched(rng, data))

        def read() -> tuple[str, str]:
            found = self._read(path)
            # What was put behind the end of a stream by hand is another stream.
            same = expected is None or all(map(np.array_equal, found, expected)) or len(found[1]) != len(expected[1])
            return ("taken", "") if same else ("silent difference", suffix)

        return _ending(read, (SourceError,))

    def _read(self, path: Path) -> tuple[Any, Any]:
        from kernelstream.sources import open_file

        blocks = [(X.toarray() if hasattr(X, "toarray") else X, y) for X, y in open_file(path)]
        width = max((X.shape[1] for X, _ in blocks), default=0)
        rows = [np.pad(X, ((0, 0), (0, width - X.shape[1]))) for X, _ in blocks]
        return np.concatenate([np.zeros((0, width)), *rows]), [label for _, y in blocks for label in y.tolist()]


class Commands:
    """Command lines put together at random; what they read must be there afterwards."""

    def __init__(self, folder: Path):
        from kernelstream import RBP, Binary, Learner

        rng = np.random.default_rng(0)
        X = rng.normal(size=(40, 2)).round(2)
        y = np.where(X[:, 0] > 0, "yes", "no")
        os.chdir(folder)
        lines = [f"{a},{b},{label}\n" for (a, b), label in zip(X, y, strict=True)]
        Path("a.csv").write_text("a,b,kind\n" + "".join(lines))
        Path("b.libsvm").write_text("".join(f"{i % 2} 1:{i} 3:{i % 5}\n" for i in range(40)))
        Path("c.csv").write_bytes(rng.bytes(500))
        Path("t.toml").write_text('algorithm = "rbp"\nseed = 3\n[set]\nbudget = 9\n')
        learner = Learner(RBP(budget=5), Binary(["no", "yes"]))
        learner.learn(X, y)
        learner.save("m.ks")
        self.before = {path.name: path.read_bytes() for path in Path().iterdir()}

    def __call__(self, rng: np.random.Generator) -> tuple[str, str]:
        from typer.testing import CliRunner

        from kernelstream.cli import app

        arguments = self._arguments(rng)
        answer = CliRunner().invoke(app, arguments, input="1 1:1\n-1 1:2\n")
        shown = " ".join(arguments)
        for path in Path().iterdir():
            if path.name not in self.before:
                path.unlink()
        changed = [name for name, data in self.before.items() if Path(name).read_bytes() != data]
        for name in changed:
            Path(name).write_bytes(self.before[name])
        lost = [name for name in changed if self.reads(arguments, name)]
        if lost:
            return "silent difference", f"{shown}: {lost} is lost"
        if answer.exception is not None and not isinstance(answer.exception, SystemExit):
            return "traceback", f"{shown}: {type(answer.exception).__name__}: {answer.exception}"
        if answer.exit_code not in (0, 2):
            return "traceback", f"{shown}: exit {answer.exit_code}"
        return ("taken" if answer.exit_code == 0 else "refused"), shown

    def reads(self, arguments: list[str], name: str) -> bool:
        """Whether a command line names this file for what is read."""
        if arguments[0] == "convert":  # its second place is what it writes, over what was there, as `cp` does
            arguments = arguments[:2] + arguments[3:]
        places = [word for before, word in itertools.pairwise(arguments) if not before.startswith("--")]
        places += [word for before, word in itertools.pairwise(arguments) if before in _READ]
        return any(word in (name, ".") or (word == "*.csv" and name.endswith(".csv")) for word in places)

    def _arguments(self, rng: np.random.Generator) -> list[str]:
        data = ("a.csv", "b.libsvm", "c.csv", "m.ks", "-", "nowhere", "checkerboard:rows=50", "*.csv", ".", "x:y=1", "")
        out = ("o1", "o2.csv", "o3.ks", "a.csv", "m.ks", "no/where", ".", "-", "/dev/stdout", "")
        values = (
            "",
            "0",
            "-1",
            "3",
            "1e9",
            "x",
            "a",
            "kind",
            "yes,no",
            "none",
            "adwin",
            "forget:5",
            "auto",
            "\x1b[2J",
            "9" * 30,
            "é",
            "=",
            ";",
        )
        both = ["--label", "--delimiter", "--decimal", "--drop", "--categorical", "--missing", "--on-error", "--format"]
        both += ["--block-rows", "--max-features", "--task", "--classes", "--seed", "--scale", "--dtype", "--metrics"]
        both += ["--delay", "--set", "--passes", "--every", "--jobs", "--algorithm", "--drift", "--on-drift"]
        files = [
            "--save",
            "--json",
            "--csv",
            "--markdown",
            "--report",
            "--checkpoint",
            "--config",
            "--orders",
            "--test",
        ]
        flags = ["--header", "--no-header", "--zero-based", "--survey", "--shuffle", "--resume"]
        command = _pick(rng, ("run", "run", "run", "predict", "convert", "compare", "inspect"))
        arguments = [command, *(["--algorithm", "rbp"] if command == "run" else [])]
        arguments += ["--algorithms", "rbp,perceptron"] if command == "compare" else []
        arguments += [_pick(rng, ("m.ks", "m.ks", "a.csv", "nowhere"))] if command in ("predict", "inspect") else []
        arguments += [_pick(rng, data)] if command != "inspect" else []
        arguments += [_pick(rng, out)] if command == "convert" else []
        for _ in range(int(rng.integers(0, 4))):
            kind = rng.random()
            if kind < 0.4:
                arguments += [_pick(rng, both), _pick(rng, values)]
            elif kind < 0.8:
                arguments += [_pick(rng, files), _pick(rng, (*out, "t.toml"))]
            else:
                arguments.append(_pick(rng, flags))
        return arguments


class Checkpoints:
    """Checkpoints and models of runs, of which an entry of the header is another."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.made: dict[str, Any] = {}

    def __call__(self, rng: np.random.Generator) -> tuple[str, str]:
        from .altered import KINDS, Altered, alterations, places

        kind = _pick(rng, list(KINDS))
        if kind not in self.made:
            self.made[kind] = Altered(self.folder, kind)
        name = _pick(rng, ("checkpoint", "checkpoint", "model"))
        header = self.made[kind].headers[name]
        place = _pick(rng, list(places(header)))
        what, other = _pick(rng, list(alterations(header, place)))
        outcome, why = self.made[kind].outcome(name, place, other)
        return outcome, f"{kind} {name}: {what}: {why}"


if __name__ == "__main__":
    sys.exit(main())
