"""The demonstration: small real data sets, streamed through several learners."""

import platform
from collections.abc import Callable
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner

from .. import __version__
from ..algorithms import ALGORITHMS
from ..engine.cores import available
from ..evaluate.building import learner_for
from ..evaluate.naive import naive
from ..evaluate.processes import Processes
from ..evaluate.run import prequential
from ..evaluate.trace import Trace
from ..metrics import default_metrics
from ..numerics.compile import INTERPRETED, SHELVES
from ..report.machine import machine
from ..report.page import write_page
from ..report.plots import write_curves
from ..report.tables import traces_table
from ..sources import Shuffled, open_source
from ..sources.survey import survey

LEARNERS = ("auto", "fogd", "nogd", "ogd", "perceptron", "rbp", "bpa-s", "bsgd-m")
DATA_SETS = ("digits", "breast-cancer", "diabetes")
SEED = 0
SCALE = "standard"
_BLOCK_ROWS = 256


def run_demo(output: Path, console: Console) -> list[Trace]:
    """Run all, with a table that fills on the way; write ``report.html`` and ``curve.png``."""
    output.mkdir(parents=True, exist_ok=True)
    traces: list[Trace] = []
    nothing_is_compiled = SHELVES.is_empty and not INTERPRETED
    with Processes(_compile, None, available() if nothing_is_compiled else 1) as processes:
        # On all cores, the learners in the order in which they are waited for.
        compiled = {name: processes.call(name) for name in LEARNERS} if nothing_is_compiled else {}

        def wait_for(learner: str) -> None:
            if learner in compiled:
                processes.result(compiled.pop(learner))

        if console.is_terminal:
            with Live(traces_table(traces), console=console) as live:
                beside = _run_all(traces, wait_for, live)
        else:
            if compiled:
                said = f"compiling {len(compiled)} learners, which the first time takes half a minute and more"
                Console(stderr=True).print(said, highlight=False)
            beside = _run_all(traces, wait_for, None)
            console.print(traces_table(traces))
    page, curve = output / "report.html", output / "curve.png"
    drawing = f"drawing {curve.name} and {page.name}"
    if not console.is_terminal:
        Console(stderr=True).print(drawing, highlight=False)
    with console.status(drawing) if console.is_terminal else nullcontext():
        _draw(curve, page, traces, beside)
    for path in (page, curve):
        console.print(f"wrote {path.resolve()}", soft_wrap=True, highlight=False, markup=False)
    return traces


def _compile(nothing: None, algorithm: str) -> None:
    """Have a learner compiled, by a part of its run."""
    file = open_source(DATA_SETS[0], block_rows=_BLOCK_ROWS)
    learner = learner_for(survey(file, scale=SCALE), ALGORITHMS[algorithm], seed=SEED)
    prequential(learner, Shuffled(file, SEED, block_rows=_BLOCK_ROWS))


def _draw(curve: Path, page: Path, traces: list[Trace], beside: list[Trace]) -> None:
    write_curves(curve, traces)
    write_page(
        page,
        traces,
        title="kernelstream demo",
        lead=f"{len(DATA_SETS)} data sets that come with scikit-learn, streamed once through several learners: every "
        "row was predicted before it was learned from.",
        facts={
            "command": "kernelstream demo",
            "rows": f"shuffled with seed {SEED}, features scaled: {SCALE}",
            "versions": f"kernelstream {__version__}, NumPy {np.__version__}, Numba {version('numba')}, "
            f"Python {platform.python_version()}",
            "machine": machine(),
        },
        naive=beside,
    )


def _run_all(traces: list[Trace], wait_for: Callable[[str], None], live: Live | None) -> list[Trace]:
    """Fill `traces`; gives what is reached without looking at a row."""
    lines, beside = Console(stderr=True), list[Trace]()
    for name in DATA_SETS:
        file = open_source(name, block_rows=_BLOCK_ROWS)
        found = survey(file, scale=SCALE)
        task = found.task.name
        for algorithm in (name for name in LEARNERS if task in ALGORITHMS[name].tasks):
            spec = ALGORITHMS[algorithm]
            traces.append(Trace(name, algorithm, task, SEED, default_metrics(task)[-1].name))

            def show(trace: Trace) -> None:
                traces[-1] = trace
                if live is not None:
                    live.update(traces_table(traces), refresh=True)

            if live is not None:
                # Which turns while the first learners are compiled, for nothing else does.
                busy = Spinner("dots", f"compiling {algorithm} for {name}; the first time takes half a minute")
                live.update(Group(traces_table(traces, waiting="compiling"), busy), refresh=True)
            else:
                lines.print(f"{algorithm} on {name}", highlight=False)
            wait_for(algorithm)
            learner = learner_for(found, spec, seed=SEED)
            traces[-1] = prequential(learner, Shuffled(file, SEED, block_rows=_BLOCK_ROWS), on_block=show)
        beside += [prequential(one, Shuffled(file, SEED)) for one in naive(found.task, in_order=False)]
    return beside
