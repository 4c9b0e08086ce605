"""Laws of what people see: pages that need nothing else, pictures without a display, numbers that can be read."""

import base64
import io
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from kernelstream import ALGORITHMS, Binary, Learner, Regression
from kernelstream.demo import DATA_SETS, LEARNERS, run_demo
from kernelstream.evaluate import Trace, prequential
from kernelstream.report import words
from kernelstream.report.page import write_page
from kernelstream.report.plots import DARK, LIGHT, METRIC, ROWS, SECONDS, SIZE, curve_svg, write_curves
from kernelstream.report.tables import algorithms_table, run_table, traces_table
from kernelstream.settings import described
from kernelstream.sources import ArraySource

ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src")}
HOSTILE = "<script>alert('a & \"b\"')</script> [bold]x[/bold]"


def runs(name="waves"):
    X = np.random.default_rng(0).normal(size=(100, 3))
    tasks = {name: (Binary([-1.0, 1.0]), np.sign(X[:, 0])), f"{name} 2": (Regression(), X[:, 0])}
    return [
        prequential(Learner(algorithm, task), ArraySource(X, y, name=source))
        for source, (task, y) in tasks.items()
        for algorithm in ("ogd", "fogd")
    ]


def printed(table, width=80):
    console = Console(width=width, file=io.StringIO())
    console.print(table)
    return console.file.getvalue()


class Page(HTMLParser):
    """Tags with their attributes, and the text."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.open, self.text = [], [], ""
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "source"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def of(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def test_a_page_needs_nothing_but_itself(tmp_path):
    write_page(tmp_path / "p.html", runs(), title="Title", lead="Lead.", facts={"seed": "7"})
    page = Page(tmp_path / "p.html")
    assert page.open == []
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "link", "iframe", "object"})
    for _, attributes in page.tags:
        for name in ("src", "srcset", "href"):
            assert attributes.get(name, "data:").startswith("data:")
    assert len(page.of("img")) == len(page.of("source")) == 6
    for image in page.of("img"):
        svg = base64.b64decode(image["src"].partition("base64,")[2]).decode()
        assert not re.search(r"(href|src)=\"(?!#)", svg)
        assert "ogd ends at" in image["alt"]
    assert all("dark" in source["media"] for source in page.of("source"))
    for word in ("Title", "Lead.", "7", "mistake rate", "RMSE", "kernel.gamma=", "n_components=400"):
        assert word in page.text


def test_a_page_shows_names_as_they_are(tmp_path):
    traces = runs(HOSTILE)
    write_page(tmp_path / "p.html", traces, title=HOSTILE, lead=HOSTILE, facts={HOSTILE: HOSTILE})
    page = Page(tmp_path / "p.html")
    assert page.of("script") == []
    assert page.text.count(HOSTILE) >= 8
    assert HOSTILE in printed(traces_table(traces), 200)
    assert HOSTILE in printed(run_table(traces[0], {"note": HOSTILE}), 200)


def test_curves_are_pictures_in_light_and_dark(tmp_path):
    traces = runs()
    write_curves(tmp_path / "c.png", traces)
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    for x, y in ((ROWS, METRIC), (SECONDS, METRIC), (ROWS, SIZE)):
        light, dark = (curve_svg(traces[:2], x, y, ink) for ink in (LIGHT, DARK))
        assert light.count("fogd") == dark.count("fogd") == 1
        assert LIGHT.curves[0] in light
        assert DARK.curves[0] in dark
        assert light == curve_svg(traces[:2], x, y, LIGHT)


def test_drawing_asks_for_no_display():
    code = (
        "import sys; from pathlib import Path; from kernelstream.evaluate import Checkpoint, Trace;"
        "from kernelstream.report.plots import write_curves;"
        "trace = Trace('a', 'b', 'binary', 0, 'm', checkpoints=[Checkpoint(1, {'m': 1.0}, {}, 1.0, 1.0, 1, 1)] * 2);"
        "write_curves(Path(sys.argv[1]), [trace]); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code, os.devnull], check=True, env=ENVIRONMENT)


def test_tables_fit_and_hold_what_they_should():
    trace = runs()[0]
    table = printed(run_table(trace, {"scale": "none"}, interrupted=True))
    for word in ("ogd on waves (interrupted)", "binary", "mistake rate", "rows/s", "kernel.gamma=", "scale"):
        assert word in table
    waiting = Trace("waves", "rbp", "binary", 0, "mistake_rate")
    assert "compiling" in printed(traces_table([trace, waiting], waiting="compiling"))


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_of_algorithms_is_complete(width):
    table = printed(algorithms_table(described(name) for name in ALGORITHMS), width)
    assert "…" not in table
    for name, kind in ALGORITHMS.items():
        for word in (name, *kind.tasks, *kind.losses(kind.tasks[0])):
            assert word in table


def test_numbers_in_words():
    assert words.metric_value("mistake_rate", 0.12345) == "12.35 %"
    assert words.metric_value("rmse", 57.1234567) == "57.123"
    assert words.metric_name("some_new_metric") == "some new metric"
    assert [words.seconds(s) for s in (0.00123, 0.5, 12.345, 3600)] == ["1.23 ms", "500 ms", "12.3 s", "3,600 s"]
    assert [words.size_in_bytes(b) for b in (12, 1234, 5_600_000, 7e15)] == ["12 B", "1.23 kB", "5.6 MB", "7e+03 TB"]
    assert words.settings({"a": 0.1, "b": None, "c": "x", "d": 3}) == ["a=0.1", "b=None", "c=x", "d=3"]


@pytest.mark.parametrize("terminal", [True, False])
def test_the_demo_runs_every_learner_on_every_data_set(tmp_path, terminal):
    with open(tmp_path / "out.txt", "w") as file:
        traces = run_demo(tmp_path / "new" / "place", Console(file=file, width=100, force_terminal=terminal))
    assert [(t.source, t.algorithm) for t in traces] == [
        (source, name)
        for source, task in zip(DATA_SETS, ("multiclass", "binary", "regression"), strict=True)
        for name in LEARNERS
        if task in ALGORITHMS[name].tasks
    ]
    assert {t.last.rows for t in traces} == {1797, 569, 442}
    assert max(t.last.metrics["mistake_rate"] for t in traces if t.task != "regression") < 0.2
    output = (tmp_path / "out.txt").read_text()
    for name in ("report.html", "curve.png"):
        assert (tmp_path / "new" / "place" / name).stat().st_size > 10_000
        assert f"place/{name}" in output
