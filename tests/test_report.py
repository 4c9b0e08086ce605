"""Laws of what people see: pages that need nothing else, pictures without a display, numbers that can be read."""

import base64
import csv
import dataclasses
import io
import itertools
import os
import re
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from rich.console import Console

from kernelstream import ALGORITHMS, Binary, Learner, Multiclass, Regression
from kernelstream.algorithms import PURPOSES
from kernelstream.cli.demo import DATA_SETS, LEARNERS, run_demo
from kernelstream.evaluate.naive import Majority, Mean, NoChange
from kernelstream.evaluate.naive import naive as naive_models
from kernelstream.evaluate.run import Checkpoint, Trace, prequential
from kernelstream.evaluate.settings import described
from kernelstream.report import words
from kernelstream.report.ends import apart
from kernelstream.report.headline import headline
from kernelstream.report.live import ProgressLine
from kernelstream.report.machine import machine
from kernelstream.report.page import write_page
from kernelstream.report.plots import DARK, LIGHT, course_svg, curve_svg, in_the_dark, write_curves
from kernelstream.report.runs import METRIC, ROWS, SECONDS, SIZE, WINDOW, by_source
from kernelstream.report.scatter import label_points, lay_out, scatter_svg
from kernelstream.report.style import STYLE
from kernelstream.report.tables import (
    algorithms_table,
    csv_table,
    markdown_table,
    run_table,
    traces_table,
)
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


def made(algorithm, value, *, source="s", seed=0, parameters=None, headline="mistake_rate", others=None, size=5):
    """A run of 1,000 rows whose metric falls from 1 to a value."""
    checkpoints = [
        Checkpoint(
            rows,
            {headline: 1 + (value - 1) * rows / 1000, **(others or {})},
            {headline: value, **(others or {})},
            rows / 1e4,
            rows / 1e5,
            size,
            8 * size,
        )
        for rows in range(100, 1001, 100)
    ]
    task = "regression" if headline == "rmse" else "binary"
    return Trace(source, algorithm, task, seed, headline, parameters or {}, 0.5, checkpoints, checkpoints[-1])


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
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data

    def of(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


def test_a_page_needs_nothing_but_itself(tmp_path):
    write_page(tmp_path / "p.html", runs(), title="Title", lead="Lead.", facts={"seed": "7"}, notes=["A note."])
    page = Page(tmp_path / "p.html")
    assert page.open == []
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "link", "iframe", "object"})
    policy = next(meta["content"] for meta in page.of("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")
    for _, attributes in page.tags:
        for name in ("src", "href"):
            assert attributes.get(name, "data:").startswith("data:")
    assert len(page.of("figure")) == 10
    kinds = [image["class"] for image in page.of("img")]
    assert (kinds.count("light"), kinds.count("dark")) == (10, 10)
    assert (kinds.count("narrow-light"), kinds.count("narrow-dark")) == (2, 2)
    for image in page.of("img"):
        svg = base64.b64decode(image["src"].partition("base64,")[2]).decode()
        assert not re.search(r"(href|src)=\"(?!#)", svg)
        assert re.match(r"waves( 2)?: .*\bogd ", image["alt"])
    for word in ("Title", "Lead.", "7", "A note.", "mistake rate", "RMSE", "MSE", "kernel.gamma=", "n_components=1600"):
        assert word in page.text


def test_a_page_of_one_run_has_no_scatter_and_no_names_at_lines(tmp_path):
    write_page(tmp_path / "p.html", runs()[:1], title="Title", lead="Lead.", facts={})
    page = Page(tmp_path / "p.html")
    assert len(page.of("figure")) == 2
    assert page.of("svg") == []
    assert "marked" not in page.text
    (run,) = by_source(runs()[:1])["waves"]
    course = course_svg(run, LIGHT)
    assert "so far" in course and "in windows" in course


def test_only_the_lead_of_a_page_says_how_rows_were_judged(tmp_path):
    """Other rows than those that were learned may have judged it."""
    for some in (runs()[:1], runs()):
        write_page(tmp_path / "page.html", some, title="", lead="Learned from these, judged by those.", facts={})
        assert "was predicted before" not in (tmp_path / "page.html").read_text()
        assert "<caption><span></span></caption>" not in (tmp_path / "page.html").read_text()


def test_a_page_without_a_row_is_refused(tmp_path):
    with pytest.raises(ValueError, match="none of the 1 runs has learned from a row"):
        write_page(tmp_path / "p.html", [Trace("s", "a", "binary", 0, "auc")], title="", lead="", facts={})


# The headline, and what is reached without looking at a row.


def test_a_page_says_first_what_came_out(tmp_path):
    naive = [made("majority so far", 0.6), made("no change", 0.45)]
    write_page(tmp_path / "p.html", [made("a", 0.3), made("b", 0.2)], title="", lead="", facts={}, naive=naive)
    text = Page(tmp_path / "p.html").text
    said = "B, the best of 2 learners, ends with a mistake rate of 20.00 % after 1,000 rows of s; a, the last of "
    assert said + "them, has 30.00 %, no change has 45.00 %, majority so far has 60.00 %." in text
    write_page(tmp_path / "p.html", [made("a", 3.5, headline="rmse")], title="", lead="", facts={})
    assert "A ends with an RMSE of 3.5 after 1,000 rows of s." in Page(tmp_path / "p.html").text
    both = [made("a", 0.3, source="x"), made("b", 0.2, source="y")]
    write_page(tmp_path / "p.html", both, title="", lead="", facts={})
    assert "Best: a on x (mistake rate of 30.00 %), b on y (mistake rate of 20.00 %)." in Page(tmp_path / "p.html").text


def test_a_headline_names_all_that_are_as_good_and_what_noise_alone_would_tell_apart():
    def said(*traces):
        return headline(by_source(traces), {})

    # A standard error of the difference of two shares near 0.2 of 1,000 rows is 0.0179.
    one = [made("a", 0.2), made("b", 0.2), made("c", 0.217), made("d", 0.219)]
    assert said(*one) == (
        "A and b, the best of 4 learners, end with a mistake rate of 20.00 % after 1,000 rows of s; c within the noise "
        "of that, d, the last of them, has 21.90 %."
    )
    assert "; b and c, the last of them, have 30.00 %." in said(made("a", 0.2), made("b", 0.3), made("c", 0.3))
    other = [made("a", 3.5, source="t", headline="rmse"), made("b", 3.501, source="t", headline="rmse")]
    best = "Best: a and b on s (mistake rate of 20.00 %; within the noise c), a on t (RMSE of 3.5)."
    assert said(*one, *other) == best
    close = [made(name, 0.2 + 0.001 * i) for i, name in enumerate("abcdef")]
    assert "; b, c, d and 2 more within the noise of that." in said(*close)
    # Over row orders the noise is theirs: 0.001 / sqrt(2) each.
    orders = [
        made(name, value + seed * 0.001, seed=seed) for name, value in (("a", 0.2), ("b", 0.203)) for seed in (0, 1)
    ]
    assert "b, the last of them, has" in said(*orders)
    orders = [
        made(name, value + seed * 0.01, seed=seed) for name, value in (("a", 0.2), ("b", 0.203)) for seed in (0, 1)
    ]
    assert "b within the noise of that" in said(*orders)


def test_what_looks_at_no_row_stands_below_the_learners_and_is_never_the_best(tmp_path):
    naive = [made("majority so far", 0.1)]
    write_page(tmp_path / "p.html", [made("a", 0.3), made("b", 0.2)], title="", lead="", facts={}, naive=naive)
    text = (tmp_path / "p.html").read_text()
    (row,) = re.findall(r"<tr class=naive>(.*?)</tr>", text)
    cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
    assert cells == ["majority so far", "10.00 %", *["-"] * 6]
    assert rows_of(tmp_path / "p.html")[1] == ["20.00 %"]
    assert text.index("<tr class=naive>") > text.rindex("<th scope=row><svg")
    assert "<b>size</b> counts the points that the model keeps" in text and "no learners" in text


def test_naive_models_say_what_they_should():
    y = np.array([1.0, 2.0, 2.0, 1.0, 2.0, 1.0, 1.0, 1.0])
    X = np.zeros((8, 1))
    task = Multiclass([1.0, 2.0])
    expected = {Majority: [1, 1, 1, 2, 2, 2, 2, 1], NoChange: [1, 1, 2, 2, 1, 2, 1, 1]}
    for kind, said in expected.items():
        for cut in (8, 3, 1):
            model = kind(task)
            parts = [model.learn(X[i : i + cut], y[i : i + cut], frozenset())["labels"] for i in range(0, 8, cut)]
            assert np.concatenate(parts).tolist() == said
        assert model.show(X[:2], frozenset())["labels"].tolist() == [1.0, 1.0]
    for cut in (8, 3):
        model = Mean(Regression())
        parts = [model.learn(X[i : i + cut], y[i : i + cut], frozenset())["labels"] for i in range(0, 8, cut)]
        means = [0.0, *(y[:t].mean() for t in range(1, 8))]
        assert np.concatenate(parts) == pytest.approx(means)
        assert model.show(X[:1], frozenset())["labels"] == pytest.approx([y.mean()])
    words_ = NoChange(Multiclass(["no", "perhaps"])).learn(X[:3], np.array(["no", "perhaps", "no"]), frozenset())
    assert words_["labels"].tolist() == ["no", "no", "perhaps"]
    assert [type(one) for one in naive_models(Regression(), in_order=True)] == [Mean, NoChange]
    assert [type(one) for one in naive_models(task, in_order=False)] == [Majority]


# Names at the ends of lines.


@pytest.mark.parametrize("seed", range(5))
def test_names_stay_apart_in_their_order_and_as_near_as_can_be(seed):
    rng = np.random.default_rng(seed)
    centres, heights = rng.uniform(0, 1, 9).tolist(), rng.choice([0.05, 0.1], 9).tolist()
    places = apart(centres, heights)
    order = np.argsort(centres)
    for low, high in itertools.pairwise(order):
        assert places[high] - places[low] >= (heights[low] + heights[high]) / 2 - 1e-9
    assert apart([0.2, 0.8], [0.1, 0.1]) == pytest.approx([0.2, 0.8])
    assert apart([0.5, 0.5], [0.1, 0.1]) == pytest.approx([0.55, 0.45])  # the first of equals is above


def test_every_line_has_its_name_in_its_colour_and_no_legend_is_needed():
    group = by_source([made(f"learner-{i}", 0.1 + i / 1000) for i in range(7)])["s"]
    svg = curve_svg(group, ROWS, METRIC, LIGHT)
    for run in group:
        colour = LIGHT.curves[run.position % len(LIGHT.curves)]
        assert re.search(rf"fill: {colour}[^>]*>{run.label}</text>", svg), run.label
    heights = sorted(float(y) for y in re.findall(r'y="([\d.]+)"[^>]*>learner-', svg))
    assert len(heights) == 7 and min(np.diff(heights)) > 8.5


def test_only_the_best_of_many_have_names():
    group = by_source([made(f"learner-{i:02}", 0.1 + i / 100) for i in range(12)])["s"]
    named = re.findall(r">(learner-\d+)</text>", curve_svg(group, ROWS, METRIC, LIGHT))
    assert sorted(named) == [f"learner-{i:02}" for i in range(7)]


def test_what_lies_beyond_the_frame_is_told():
    def flat(name, first):
        trace = made(name, 0.2)
        later = [trace.last._replace(rows=rows, metrics={"mistake_rate": 0.2}) for rows in (500, 700)]
        start = trace.last._replace(rows=16, metrics={"mistake_rate": first})
        return dataclasses.replace(trace, checkpoints=[start, *later, trace.last])

    for first, said in ((0.9, "first rows up to 90.00 %"), (0.01, "first rows down to 1.00 %")):
        assert said in curve_svg(by_source([flat("a", first), flat("b", 0.2)])["s"], ROWS, METRIC, LIGHT)
    assert "first rows" not in curve_svg(by_source([flat("a", 0.2), flat("b", 0.2)])["s"], ROWS, METRIC, LIGHT)


# Colours.


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_everything_that_is_read_has_a_contrast_of_four_and_a_half():
    assert contrast("#ffffff", "#000000") == pytest.approx(21)
    for ink in (LIGHT, DARK):
        assert min(contrast(ink.paper, colour) for colour in (ink.text, *ink.curves)) >= 4.5
    for root in re.findall(r":root {([^}]*)}", STYLE):
        colours = dict(re.findall(r"--(\w+): (#\w+);", root))
        for text in ("text", "soft"):
            for paper in ("paper", "raised", "best"):
                assert contrast(colours[text], colours[paper]) >= 4.5, (text, paper)


def test_a_dark_picture_is_the_light_one_in_other_colours():
    group = by_source([made("a", 0.2), made("b", 0.25)])["s"]
    for draw in (lambda ink: curve_svg(group, ROWS, METRIC, ink), lambda ink: scatter_svg(group, ink)):
        # Names of parts are made of what they look like.
        light, dark = (re.sub(r"\b[mp][0-9a-f]{10}\b", "part", svg) for svg in (in_the_dark(draw(LIGHT)), draw(DARK)))
        assert light == dark


def test_the_machine_is_named():
    assert re.fullmatch(r".+, \d+ cores?, \w+ \w+", machine())


def test_a_page_of_seven_learners_is_written_in_two_seconds(tmp_path):
    traces = [made(f"learner-{i}", 0.1 + i / 100) for i in range(7)]
    write_page(tmp_path / "p.html", traces[:1], title="", lead="", facts={})  # what the first drawing prepares
    start = time.process_time()
    write_page(tmp_path / "p.html", traces, title="", lead="", facts={})
    assert time.process_time() - start < 2.0


def rows_of(path):
    """The cells of a page's tables, and those that are marked as best."""
    text = path.read_text()
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", text)]
    cells = [[re.sub(r"<.*?>", "", cell) for cell in row] for row in rows]
    return cells, re.findall(r"<td class=best[^>]*>(.*?)</td>", text)


def test_the_best_comes_first_and_is_marked_whichever_way_is_better(tmp_path):
    traces = [made("a", 0.3, others={"auc": 0.7}), made("b", 0.2, others={"auc": 0.9}), made("c", 0.25)]
    write_page(tmp_path / "p.html", traces, title="", lead="", facts={})
    cells, marked = rows_of(tmp_path / "p.html")
    assert [row[:3] for row in cells] == [
        ["learner", "mistake rate", "AUC"],
        ["b", "20.00 %", "0.9"],
        ["c", "25.00 %", "-"],
        ["a", "30.00 %", "0.7"],
    ]
    assert marked == ["20.00 %", "0.9"]
    traces = [made("a", 0.7, headline="auc"), made("b", 0.9, headline="auc")]
    assert [run.label for run in by_source(traces)["s"]] == ["b", "a"]


def test_repeats_are_shown_as_one_with_their_deviation(tmp_path):
    # A kernel's width that was settled on other rows differs a little; a setting of the user's differs more.
    traces = [
        made("a", value, seed=seed, parameters={"kernel.gamma": gamma, "budget": 10})
        for seed, value, gamma in ((0, 0.1, 0.50), (1, 0.2, 0.51), (2, 0.3, 0.52))
    ]
    traces += [made("a", 0.4, seed=seed, parameters={"kernel.gamma": 0.5, "budget": 20}) for seed in (0, 1)]
    first, second = by_source(traces)["s"]
    assert (first.label, len(first.repeats)) == ("a budget=10", 3)
    assert (second.label, len(second.repeats)) == ("a budget=20", 2)
    assert first.headline == (pytest.approx(0.2), pytest.approx(0.1))
    curve = first.curve(ROWS, METRIC)
    assert curve.y[-1] == pytest.approx(0.2) and curve.deviation[-1] == pytest.approx(0.1)
    assert first.settings == "kernel.gamma=0.5..0.52 budget=10"
    write_page(tmp_path / "p.html", traces, title="", lead="", facts={})
    cells, _ = rows_of(tmp_path / "p.html")
    assert cells[1][:3] == ["a budget=10", "20.00 ± 10.00 %", "3"]
    assert "seeds 0, 1, 2" in Page(tmp_path / "p.html").text
    assert "20.00 ± 10.00 %" in printed(traces_table(traces))


def test_runs_that_nothing_tells_apart_are_numbered():
    assert [run.label for run in by_source([made("a", 0.1), made("a", 0.2), made("a", 0.3)])["s"]] == [
        "a",
        "a #2",
        "a #3",
    ]


def test_windows_that_are_too_small_are_taken_together():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    trace = prequential(Learner("ogd", Binary([-1.0, 1.0])), ArraySource(X, np.sign(X[:, 0])))
    curve = by_source([trace])["array"][0].curve(ROWS, WINDOW)
    assert np.diff(curve.x, prepend=0).min() >= 60
    mistakes = np.diff(curve.x, prepend=0) @ curve.y
    assert mistakes == pytest.approx(trace.checkpoints[-1].metrics["mistake_rate"] * 3000)


@pytest.mark.parametrize(
    "traces",
    [
        [made("a", np.nan), made("b", np.nan)],
        [made("a", 0.0), made("b", 0.0)],
        [made("a", 1e12, headline="rmse"), made("b", 0.5, headline="rmse")],
        [dataclasses.replace(made("a", 0.5), checkpoints=[])],
        [dataclasses.replace(made("a", 0.5), checkpoints=[], last=made("a", 0.5).last._replace(seconds=0.0))],
    ],
    ids=["no number", "no mistake", "far apart", "one point", "no time"],
)
def test_any_numbers_can_be_drawn(traces):
    (group,) = by_source(traces).values()
    for x, y in ((ROWS, METRIC), (ROWS, WINDOW), (SECONDS, METRIC), (ROWS, SIZE)):
        assert curve_svg(group, x, y, LIGHT).endswith("</svg>\n")
    assert scatter_svg(group, LIGHT).endswith("</svg>\n")


def test_names_with_signs_of_formulas_are_drawn_as_they_are():
    group = by_source([made("cost in $ or $", 0.1), made("b", 0.2)])["s"]
    assert ">cost in $ or $</text>" in scatter_svg(group, LIGHT)


def test_a_size_that_is_not_known_is_a_dash(tmp_path):
    traces = [made("a", 0.3), made("SGDClassifier", 0.2, size=0)]
    write_page(tmp_path / "p.html", traces, title="", lead="", facts={})
    cells, _ = rows_of(tmp_path / "p.html")
    assert cells[1][-2:] == ["-", "-"]
    assert cells[2][-2:] == ["5", "40 B"]


def overlaps(svg):
    """Pairs of labels in a scatter whose boxes share more than a tenth of a letter."""
    texts = re.findall(r'font-size: 9px[^>]* x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]+)<', svg)
    boxes = [(float(x), float(y), float(x) + 5.2 * len(text), float(y) - 7.0, text) for x, y, text in texts]
    shared = [
        (a[4], b[4])
        for i, a in enumerate(boxes)
        for b in boxes[:i]
        if min(a[2], b[2]) - max(a[0], b[0]) > 0.5 and min(a[1], b[1]) - max(a[3], b[3]) > 0.5
    ]
    return len(boxes), shared


def test_labels_of_a_crowded_scatter_do_not_overlap():
    values = np.random.default_rng(0).uniform(0.1, 0.13, 27)
    group = by_source([made(f"learner-{i}", value) for i, value in enumerate(values)])["s"]
    n, shared = overlaps(scatter_svg(group, LIGHT))
    assert n == 27
    assert shared == []


def test_lines_to_labels_that_lie_apart_do_not_cross():
    widths = np.where(np.arange(40) < 30, 0.0125, 0.05)[:, None]
    places = 10.0 ** (widths * np.random.default_rng(3).normal(size=(40, 2)))
    figure = Figure(figsize=(7, 6))
    panel = figure.subplots()
    panel.scatter(*places.T, s=26.0)
    lay_out(figure)
    label_points(panel, [f"learner-{i}" for i in range(40)], places, np.full(40, 26.0), LIGHT, fontsize=7.5)
    lay_out(figure)
    labels = [text for text in panel.texts if text.arrow_patch]
    boxes = [Text.get_window_extent(text, figure.canvas.get_renderer()) for text in labels]
    lines = [
        (panel.transData.transform(text.xy), np.array([box.x0 + box.x1, box.y0 + box.y1]) / 2)
        for text, box in zip(labels, boxes, strict=True)
    ]
    assert lines
    assert not [(labels[i], labels[j]) for i in range(len(lines)) for j in range(i) if cross(lines[i], lines[j])]


def cross(one, other):
    """Whether two lines from a point to a point do."""

    def side(line, point):
        (ax, ay), (bx, by) = line[1] - line[0], point - line[0]
        return ax * by > ay * bx

    apart = [[side(line, point) for point in points] for line, points in ((one, other), (other, one))]
    return all(a != b for a, b in apart)


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
    group = by_source(traces)["waves"]
    for x, y in ((ROWS, METRIC), (ROWS, WINDOW), (SECONDS, METRIC), (ROWS, SIZE)):
        light, dark = (curve_svg(group, x, y, ink) for ink in (LIGHT, DARK))
        for position in (0, 1):
            assert LIGHT.curves[position] in light
            assert DARK.curves[position] in dark
        assert light == curve_svg(group, x, y, LIGHT)


def test_a_learner_has_one_colour_on_all_data_sets():
    groups = by_source([*(made(a, 0.2, source="s") for a in "abc"), *(made(a, 0.1, source="t") for a in "ca")])
    assert {run.label: run.position for run in groups["t"]} == {"a": 0, "c": 2}


def test_drawing_asks_for_no_display():
    code = (
        "import sys; from pathlib import Path; from kernelstream.evaluate import Checkpoint, Trace;"
        "from kernelstream.report.plots import write_curves;"
        "end = Checkpoint(1, {'m': 1.0}, {}, 1.0, 1.0, 1, 1);"
        "write_curves(Path(sys.argv[1]), [Trace('a', 'b', 'binary', 0, 'm', checkpoints=[end, end], last=end)]);"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", code, os.devnull], check=True, env=ENVIRONMENT)


def test_tables_fit_and_hold_what_they_should():
    trace = runs()[0]
    table = printed(run_table(trace, {"scale": "none"}, interrupted=True))
    for word in ("ogd on waves (interrupted)", "binary", "mistake rate", "rows/s", "kernel.gamma=", "scale"):
        assert word in table
    waiting = Trace("waves", "rbp", "binary", 0, "mistake_rate")
    assert "compiling" in printed(traces_table([trace, waiting], waiting="compiling"))


def test_a_table_of_many_metrics_fits_into_80_columns():
    others = {"auc": 0.987654, "kappa": 0.91236, "f1": 0.923456, "log_loss": 0.123456}
    traces = [made("budget-perceptron", 0.123, source="a-long-name.train", others=others, size=123_456)]
    table = printed(traces_table(traces))
    assert max(map(len, table.splitlines())) <= 80
    assert "…" not in table
    for word in (
        "mistake rate 12.30 %",
        "AUC 0.98765",
        "kappa 0.91236",
        "F1 0.92346",
        "log loss 0.12346",
        "123,456",
    ):
        assert word in table


def test_markdown_holds_every_metric_and_names_as_they_are():
    traces = [made("a|b", 0.3), made("c_d", 12.5, source="t", headline="rmse", others={"mse": 156.25})]
    lines = [line.strip("| ").split(" | ") for line in markdown_table(traces).splitlines()]
    assert lines[0][:5] == ["data set", "learner", "mistake rate", "RMSE", "MSE"]
    assert lines[2][:5] == ["s", "a\\|b", "30.00 %", "-", "-"]
    assert lines[3][:5] == ["t", "c\\_d", "-", "12.5", "156.25"]


def test_csv_holds_every_digit():
    traces = [made("a", 0.1 + 0.2, source='x,"y"', parameters={"kernel.gamma": 1 / 3, "budget": None}), made("b", 0.5)]
    first, second = csv.DictReader(io.StringIO(csv_table(traces)))
    assert first["source"] == 'x,"y"'
    assert float(first["mistake_rate"]) == traces[0].last.metrics["mistake_rate"]
    assert first["parameters"] == "kernel.gamma=0.3333333333333333 budget=None"
    assert (second["algorithm"], second["rows"], second["rows_per_second"]) == ("b", "1000", "10000.0")


def progress_of(traces, terminal):
    """What a console shows while it is told of runs; the line is asked to draw once."""
    console = Console(file=io.StringIO(), width=100, force_terminal=terminal)
    source = ArraySource(np.zeros((4, 1)), np.zeros(4))
    checked = []
    with ProgressLine(console, source, lambda: checked.append(1)) as line:
        line.learning(source)(traces)
    assert checked == [1]
    return line, console.file.getvalue()


def test_progress_shows_the_best_learners_and_counts_the_others():
    traces = [made(f"learner-{i}", 0.1 + i / 100) for i in range(10)]
    line, text = progress_of(traces, True)
    assert line.traces == traces
    for word in (
        "1,000 rows  10 learners",
        "learner-0",
        "learner-7",
        "10,000 rows/s",
        "and 2 more",
        "18.00 % to 19.00 %",
    ):
        assert word in text
    assert "learner-8" not in text


def test_progress_of_one_learner_is_one_line():
    trace = made("a", 0.25)
    line, text = progress_of(trace, True)
    assert line.trace is trace and line.traces == [trace]
    assert "1,000 rows  10,000 rows/s  mistake rate 25.00 %  size 5" in text


def test_progress_is_silent_where_there_is_no_terminal():
    assert progress_of([made("a", 0.1), made("b", 0.2)], False)[1] == ""


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_of_algorithms_is_complete(width):
    table = printed(algorithms_table(described(name) for name in ALGORITHMS), width)
    assert "…" not in table
    assert all(purpose in table for purpose in PURPOSES)
    for name, kind in ALGORITHMS.items():
        for word in (name, *kind.tasks, *kind.losses(kind.tasks[0])):
            assert word in table


def test_every_algorithm_is_for_one_thing():
    assert sorted(name for names in PURPOSES.values() for name in names) == sorted(ALGORITHMS)


def test_numbers_in_words():
    assert words.metric_value("mistake_rate", 0.12345) == "12.35 %"
    assert words.metric_value("rmse", 57.1234567) == "57.123"
    assert words.metric_name("some_new_metric") == "some new metric"
    assert [words.seconds(s) for s in (0.00123, 0.5, 12.345, 3600)] == ["1.23 ms", "500 ms", "12.3 s", "3,600 s"]
    assert [words.size_in_bytes(b) for b in (12, 1234, 5_600_000, 7e15)] == ["12 B", "1.23 kB", "5.6 MB", "7e+03 TB"]
    assert words.settings({"a": 0.1, "b": None, "c": "x", "d": 3}) == ["a=0.1", "b=None", "c=x", "d=3"]


def test_the_demo_runs_every_learner_on_every_data_set(tmp_path):
    """Before a terminal, where the table fills on the way; tests/test_cli.py has the command, before none."""
    with open(tmp_path / "out.txt", "w") as file:
        traces = run_demo(tmp_path / "new" / "place", Console(file=file, width=100, force_terminal=True))
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
