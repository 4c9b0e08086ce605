"""One self-contained HTML page about runs: nothing in it is fetched from elsewhere, and nothing in it is a script."""

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

from ..evaluate import Trace
from . import words
from .plots import DARK, LIGHT, METRIC, ROWS, SECONDS, SIZE, by_source, curve_svg, curve_title

_PANELS = ((ROWS, METRIC), (SECONDS, METRIC), (ROWS, SIZE))

_STYLE = f"""
:root {{ color-scheme: light dark; --paper: {LIGHT.paper}; --text: {LIGHT.text}; --line: {LIGHT.faint};
  --soft: #57606a; --best: #e6f4ea; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --paper: {DARK.paper}; --text: {DARK.text}; --line: {DARK.faint}; --soft: #9aa6b2; --best: #12352a; }}
}}
body {{ margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 72rem; background: var(--paper); color: var(--text);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }}
h1 {{ margin: 0 0 .25rem; font-size: 1.75rem; }}
h2 {{ margin: 2.5rem 0 .5rem; font-size: 1.25rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem; }}
p, dl, caption, figcaption {{ color: var(--soft); }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }}
dt {{ font-weight: 600; }}
dd {{ margin: 0; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .3rem .75rem; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }}
th.number, td.number {{ text-align: right; }}
td.best {{ background: var(--best); font-weight: 600; }}
caption {{ text-align: left; padding: .25rem 0 .75rem; }}
tbody th {{ font-weight: 400; }}
tbody th[scope=rowgroup] {{ font-weight: 600; vertical-align: top; }}
.panels {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(21rem, 1fr)); gap: 1rem; }}
figure {{ margin: 0; }}
figcaption {{ font-size: .9rem; }}
img {{ width: 100%; height: auto; display: block; }}
code {{ font-size: .9em; }}
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p>{lead}</p>
<h2>What was run</h2>
<dl>{facts}</dl>
<h2>Results</h2>
{table}
{sections}
<h2>Parameters</h2>
<dl>{parameters}</dl>
</body>
</html>
"""


def write_page(path: Path, traces: Sequence[Trace], *, title: str, lead: str, facts: dict[str, str]) -> None:
    """Write the page. `lead` is a sentence or two under the title, `facts` say what was run."""
    groups = by_source(traces)
    parameters = {
        f"{trace.algorithm} on {trace.source}": " ".join(words.settings(trace.parameters)) for trace in traces
    }
    page = _PAGE.format(
        title=escape(title),
        style=_STYLE,
        lead=escape(lead),
        facts=_definitions(facts),
        table=_table(groups),
        sections="\n".join(_section(source, group) for source, group in groups.items()),
        parameters=_definitions(parameters, code=True),
    )
    path.write_text(page, encoding="utf-8")


def _definitions(pairs: dict[str, str], *, code: bool = False) -> str:
    start, end = ("<dd><code>", "</code></dd>") if code else ("<dd>", "</dd>")
    return "\n".join(f"<dt>{escape(name)}</dt>{start}{escape(text)}{end}" for name, text in pairs.items())


def _table(groups: dict[str, list[Trace]]) -> str:
    head = "".join(f"<th scope=col>{name}</th>" for name in ("data set", "learner", "metric"))
    numbers = ("value", "rows", "rows/s", "learning", "size", "memory")
    head += "".join(f"<th scope=col class=number>{name}</th>" for name in numbers)
    bodies = "\n".join(_group_rows(source, group) for source, group in groups.items())
    caption = "Every row was predicted before it was learned from. The best value on each data set is marked."
    return (
        f'<div class="scroll"><table><caption>{caption}</caption><thead><tr>{head}</tr></thead>\n{bodies}</table></div>'
    )


def _group_rows(source: str, group: list[Trace]) -> str:
    best = min(trace.last.metrics[trace.headline] for trace in group)
    rows = []
    for position, trace in enumerate(group):
        last, value = trace.last, trace.last.metrics[trace.headline]
        cells = (
            words.count(last.rows),
            words.count(trace.rows_per_second),
            words.seconds(last.seconds),
            words.count(last.size),
            words.size_in_bytes(last.bytes),
        )
        first = f"<th scope=rowgroup rowspan={len(group)}>{escape(source)}</th>" if position == 0 else ""
        rows.append(
            f"<tr>{first}<th scope=row>{escape(trace.algorithm)}</th>"
            f"<td>{escape(words.metric_name(trace.headline))}</td>"
            f'<td class="number{" best" if value == best else ""}">{words.metric_value(trace.headline, value)}</td>'
            + "".join(f"<td class=number>{cell}</td>" for cell in cells)
            + "</tr>"
        )
    return "<tbody>" + "\n".join(rows) + "</tbody>"


def _section(source: str, group: list[Trace]) -> str:
    figures = "\n".join(_figure(source, group, x, y) for x, y in _PANELS)
    return f'<h2>{escape(source)}</h2>\n<div class="panels">{figures}</div>'


def _figure(source: str, group: list[Trace], x: str, y: str) -> str:
    """A picture in light and dark, with its content in words for those who do not see it."""
    title = curve_title(group, x, y)
    ends = "; ".join(f"{trace.algorithm} ends at {_end(trace, y)}" for trace in group)
    light, dark = (_data_uri(curve_svg(group, x, y, ink)) for ink in (LIGHT, DARK))
    return (
        f'<figure><picture><source media="(prefers-color-scheme: dark)" srcset="{dark}">'
        f'<img src="{light}" alt="{escape(f"{source}: {title}. {ends}.")}"></picture>'
        f"<figcaption>{escape(title)}</figcaption></figure>"
    )


def _end(trace: Trace, y: str) -> str:
    if y == SIZE:
        return words.count(trace.last.size)
    return words.metric_value(trace.headline, trace.last.metrics[trace.headline])


def _data_uri(svg: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
