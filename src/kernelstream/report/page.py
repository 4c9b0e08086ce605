"""One self-contained HTML page about runs: nothing in it is fetched from elsewhere, and nothing in it is a script."""

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path

from ..engine import disk
from ..evaluate.trace import Trace
from . import words
from .cells import Cell, Row, table
from .drifts import summary
from .headline import headline
from .inside import MOST, Inside
from .plots import (
    DASHES,
    LIGHT,
    NARROW,
    PROMINENT,
    WIDE,
    course_svg,
    curve_svg,
    curve_title,
    features_svg,
    in_the_dark,
    weights_svg,
)
from .runs import METRIC, ROWS, SECONDS, SIZE, WINDOW, Run, best, by_source, metric_names
from .scatter import scatter_svg, scatter_title
from .style import STYLE

_TALL = (4.9, 5.6)
_COURSE = "Over all rows so far, and in windows of the newest rows, where a change of the data shows at once."
_WINDOWS = "Over the newest rows only, so that a change of the data shows at once."

_COLUMNS = (
    "<b>size</b> counts the points that the model keeps, which are rows it has seen, or its features where it keeps no "
    "rows; <b>memory</b> is that of its arrays. <b>rows/s</b> is of learning alone; reading and compiling stand beside "
    "it."
)
_NAIVE = " The rows in italics are no learners: they look at the labels before a row, and not at the row."

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p class="headline">{headline}</p>
<p>{lead}</p>
<dl class="facts">{facts}</dl>
{notes}
{overview}
{sections}
<h2>Parameters</h2>
{parameters}
</body>
</html>
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def write_page(
    path: Path,
    traces: Sequence[Trace],
    *,
    title: str,
    lead: str,
    facts: dict[str, str],
    notes: Sequence[str] = (),
    insides: Mapping[str, Inside] | None = None,
    naive: Sequence[Trace] = (),
) -> None:
    """Write the page. `lead` is a sentence or two under the title, `facts` say what was run, `notes` what to know,
    `insides` what is in the models of algorithms, `naive` are runs of what looks at no row (`evaluate.naive`).

    Runs of one algorithm that differ in the seed only are shown as one, with mean and standard deviation.
    """
    groups = by_source(traces)
    if not groups:
        raise ValueError(f"none of the {len(traces)} runs has learned from a row; a page needs at least one that has.")
    beside = by_source(naive)
    page = _PAGE.format(
        policy=_POLICY,
        title=escape(title),
        style=STYLE,
        headline=escape(headline(groups, beside)),
        lead=escape(lead),
        facts=_definitions(facts),
        notes=_list("notes", [escape(note) for note in notes]),
        overview=_overview(groups) if len(groups) > 1 else "",
        sections="\n".join(
            _section(source, group, insides or {}, beside.get(source, [])) for source, group in groups.items()
        ),
        parameters="\n".join(_parameters(source, group, len(groups) > 1) for source, group in groups.items()),
    )
    disk.write_text(path, page)


def _definitions(pairs: dict[str, str], *, code: bool = False) -> str:
    start, end = ("<dd><code>", "</code></dd>") if code else ("<dd>", "</dd>")
    return "\n".join(f"<dt>{escape(name)}</dt>{start}{escape(text)}{end}" for name, text in pairs.items())


def _list(kind: str, items: Sequence[str]) -> str:
    return f'<ul class="{kind}">' + "".join(f"<li>{item}</li>" for item in items) + "</ul>" if items else ""


def _overview(groups: dict[str, list[Run]]) -> str:
    """The headline of every learner on every data set, learners in the order of their first appearance."""
    labels = {run.label: run for group in groups.values() for run in group}
    found = {source: {run.label: run for run in group} for source, group in groups.items()}
    head = ["learner"]
    for source, group in groups.items():
        head.append(f"{escape(source)}<br>{escape(words.metric_name(group[0].trace.headline))}")
    rows = []
    for label, any_run in sorted(labels.items(), key=lambda item: item[1].position):
        cells = []
        for source, group in groups.items():
            run = found[source].get(label)
            name = group[0].trace.headline
            cells.append(_metric_cell(name, run, group) if run is not None else Cell(words.DASH))
        rows.append(Row(_key(any_run) + escape(label), cells))
    results = table("The best value on each data set is marked.", head, rows)
    return f'<h2>Results</h2><div class="overview">{results}</div>'


def _section(source: str, group: list[Run], insides: Mapping[str, Inside], beside: list[Run]) -> str:
    parts = [f"<h2>{escape(source)}</h2>", f"<p>{escape(_what_ran(group))}</p>", _results(group, beside)]
    parts.append(f'<p class="words">{_COLUMNS}{_NAIVE if beside else ""}</p>')
    for run in group:
        if run.trace.drifts:
            head, *lines = summary(run.trace.drifts)
            whose = "" if len(group) == 1 else f"{run.label}, "
            parts.append(f"<h3>{escape(f'Drift: {whose}{head}')}</h3>{_list('notes', list(map(escape, lines)))}")
    shown = "\n".join(_inside(run, insides[run.trace.algorithm]) for run in group if run.trace.algorithm in insides)
    parts.append(f'<div class="panels">{_figures(source, group)}\n{shown}</div>')
    return "\n".join(parts)


def _what_ran(group: list[Run]) -> str:
    traces = [trace for run in group for trace in run.repeats]
    tasks, rows = (list(dict.fromkeys(values)) for values in zip(*((t.task, t.last.rows) for t in traces), strict=True))
    seeds = sorted({trace.seed for trace in traces})
    counts = f"{words.count(min(rows))} to {words.count(max(rows))}" if len(rows) > 1 else words.count(rows[0])
    shown = ", ".join(map(str, seeds)) if len(seeds) <= 10 else f"{len(seeds)} from {seeds[0]} to {seeds[-1]}"
    return f"{' and '.join(tasks)}, {counts} rows, seed{'s' if len(seeds) > 1 else ''} {shown}"


def _results(group: list[Run], beside: list[Run]) -> str:
    names = metric_names(trace for run in group for trace in run.repeats)
    repeated = any(len(run.repeats) > 1 for run in group)
    head = ["learner", *(escape(words.metric_name(name)) for name in names)]
    head += [*(["runs"] if repeated else []), "rows/s", "learning", "reading", "compiling", "size", "memory"]
    rows = []
    for rank, run in enumerate(group):
        cells = [_metric_cell(name, run, group) for name in names]
        if repeated:
            cells.append(Cell(str(len(run.repeats))))
        cells += [Cell(text) for text in _cost(run)]
        key = _key(run) if len(group) > 1 and rank < PROMINENT else ""
        rows.append(Row(key + escape(run.label), cells))
    for run in beside:
        cells = [Cell(words.metric_value(name, *run.metric(name))) for name in names]
        cells += [Cell(words.DASH)] * (len(head) - 1 - len(cells))
        rows.append(Row(escape(run.label), cells, "naive"))
    said = []
    if len(group) > 1:
        said.append(f"Sorted by {escape(words.metric_name(group[0].trace.headline))}; the best values are marked.")
    if repeated:
        said.append("Mean ± standard deviation over the runs; costs are means.")
    return table(" ".join(said), head, rows)


def _metric_cell(name: str, run: Run, group: list[Run]) -> Cell:
    value = run.metric(name)
    is_best = len(group) > 1 and value.mean == best(name, [other.metric(name).mean for other in group])
    return Cell(words.metric_value(name, *value), is_best)


def _cost(run: Run) -> tuple[str, ...]:
    beside = (lambda trace: trace.last.reading_seconds, lambda trace: trace.compiling_seconds)
    reading, compiling = (run.over(seconds).mean for seconds in beside)  # 0 where nobody measures them
    return (
        words.count(run.over(lambda trace: trace.rows_per_second).mean),
        words.seconds(run.over(lambda trace: trace.last.seconds).mean),
        words.seconds(reading) if reading > 0.0 else words.DASH,
        words.seconds(compiling) if compiling > 0.0 else words.DASH,
        words.known(run.over(lambda trace: trace.last.size).mean),
        words.size_in_bytes(run.over(lambda trace: trace.last.bytes).mean),
    )


def _key(run: Run) -> str:
    """A run's line, as it is drawn in the figures."""
    kind = f"c{run.position % len(LIGHT.curves)} d{run.position % len(DASHES)}"
    return f'<svg class="key" viewBox="0 0 34 10" aria-hidden="true"><path class="{kind}" d="M0 5H34"/></svg>'


def _figures(source: str, group: list[Run]) -> str:
    """Pictures with their content in words for those who do not see them."""

    def curve(x: str, y: str, about: str = "", size: tuple[float, float] = NARROW) -> str:
        title = curve_title(group, x, y)
        ends = "; ".join(f"{run.label} ends at {_end(run, x, y)}" for run in group)
        return _figure(title, about, f"{source}: {title}. {ends}.", lambda _: curve_svg(group, x, y, LIGHT, size))

    sized = any(run.trace.last.size > 0 for run in group)
    size = [curve(ROWS, SIZE, "Points or features that the model holds.")] if sized else []
    if len(group) == 1:
        return "\n".join([_course(source, group[0]), *size])
    in_time = curve(SECONDS, METRIC, "Time spent learning; reading and compiling are not counted.")
    windowed = [curve(ROWS, WINDOW, _WINDOWS)] if any(len(run.curve(ROWS, WINDOW).x) > 1 for run in group) else []
    title, about = scatter_title(group), "One point a learner; the larger the model, the larger the point."
    alt = f"{source}: {title}. " + "; ".join(
        f"{run.label} {words.metric_value(run.trace.headline, run.headline.mean)} in {_cost(run)[1]}" for run in group
    )
    scatter = _figure(title, about, alt, lambda size: scatter_svg(group, LIGHT, size), narrow=_TALL)
    so_far = "Over all rows so far."
    if len(group) > PROMINENT:
        so_far += f" The {PROMINENT} best learners have a name; the others are thin."
    return "\n".join([curve(ROWS, METRIC, so_far), *windowed, in_time, *size, scatter])


def _course(source: str, run: Run) -> str:
    title, about = words.sentence(f"{words.metric_name(run.trace.headline)} against rows"), _COURSE
    if run.trace.drifts:
        about += " Lines stand where drift was found, whole ones where the model was changed."
    alt = f"{source}: {title}. {run.label} ends at {_end(run, ROWS, METRIC)}."
    if run.trace.drifts:
        alt += f" Drift: {'; '.join(summary(run.trace.drifts))}."
    return _figure(
        title,
        about,
        alt,
        lambda size: course_svg(run, LIGHT, size),
        narrow=NARROW,
    )


def _inside(run: Run, shown: Inside) -> str:
    """What is in a run's model, where that is known."""
    figures, features = [], shown.features[:MOST]
    if features:
        title, rest = f"Features that matter to {run.label}", len(shown.features) - len(features)
        about = "Shares of the metric that was learned."
        if rest > 0:
            about += f" {words.count(rest)} more have smaller ones."
        alt = f"{title}: {', '.join(f'{name} {100 * share:.1f} %' for name, share in features)}."
        figures.append(_figure(title, about, alt, lambda size: features_svg(features, LIGHT, size), narrow=NARROW))
    if len(shown.moments):
        title, last = f"Weights of the parts of {run.label}", zip(shown.parts, shown.moments[-1, 1:], strict=True)
        about, alt = "How far each is trusted.", f"{title}. At the end {', '.join(f'{p} {w:.2f}' for p, w in last)}."
        figures.append(
            _figure(
                title,
                about,
                alt,
                lambda size: weights_svg(shown.moments, shown.parts, LIGHT, size),
                narrow=NARROW,
            )
        )
    return "\n".join(figures)


def _figure(
    title: str,
    about: str,
    alt: str,
    draw: Callable[[tuple[float, float]], str],
    *,
    narrow: tuple[float, float] | None = None,
) -> str:
    """A picture in light and dark; a wide one when it has a narrow form for phones too.

    The style sheet shows one of them. A ``<picture>`` would be printed as it was on the screen, dark on white paper.
    """
    drawn = {"": draw(NARROW if narrow is None else WIDE)}
    if narrow is not None:
        drawn["narrow-"] = draw(narrow)
    forms = [
        (form + kind, to(svg)) for form, svg in drawn.items() for kind, to in (("light", str), ("dark", in_the_dark))
    ]
    images = "".join(f'<img class="{name}" src="{_uri(svg)}" alt="{escape(alt)}">' for name, svg in forms)
    return (
        f"<figure{'' if narrow is None else ' class=wide'}><figcaption><b>{escape(title)}</b>{escape(about)}"
        f"</figcaption>{images}</figure>"
    )


def _end(run: Run, x: str, y: str) -> str:
    if y == SIZE:
        return words.known(run.trace.last.size)
    ends = run.curve(x, y).y[-1:]
    return words.metric_value(run.trace.headline, float(ends[0]) if len(ends) else math.nan)


def _uri(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()


def _parameters(source: str, group: list[Run], several: bool) -> str:
    heading = f"<h3>{escape(source)}</h3>" if several else ""
    return f"{heading}<dl>{_definitions({run.label: run.settings for run in group}, code=True)}</dl>"
