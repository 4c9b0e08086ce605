"""The page's style sheet: light and dark, from a phone's width to paper."""

from .plots import DARK, DASHES, LIGHT, Ink

# A wide picture has a narrow twin below this width of the window.
_PHONE = "screen and (max-width: 44rem)"
_DARK_SCREEN = "screen and (prefers-color-scheme: dark)"


def _variables(ink: Ink, soft: str, best: str, raised: str) -> str:
    curves = " ".join(f"--c{i}: {colour};" for i, colour in enumerate(ink.curves))
    return (
        f"--paper: {ink.paper}; --text: {ink.text}; --line: {ink.faint}; --soft: {soft}; --best: {best}; "
        f"--raised: {raised}; {curves}"
    )


_KEYS = "\n".join(
    [f".c{i} {{ stroke: var(--c{i}); }}" for i in range(len(LIGHT.curves))]
    + [
        f".d{i} {{ stroke-dasharray: {' '.join(str(2 * length) for length in dashes) or 'none'}; }}"
        for i, dashes in enumerate(DASHES)
    ]
)

STYLE = f"""
:root {{ color-scheme: light dark; {_variables(LIGHT, "#57606a", "#dff3e4", "#f6f8fa")} }}
@media {_DARK_SCREEN} {{ :root {{ {_variables(DARK, "#9aa6b2", "#12402c", "#1d242d")} }} }}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 76rem; background: var(--paper); color: var(--text);
  font: 16px/1.5 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }}
h1 {{ margin: 0 0 .25rem; font-size: 1.75rem; line-height: 1.2; overflow-wrap: anywhere; }}
h2 {{ margin: 2.5rem 0 .75rem; font-size: 1.3rem; border-bottom: 1px solid var(--line); padding-bottom: .25rem;
  overflow-wrap: anywhere; }}
h3 {{ margin: 1.25rem 0 .25rem; font-size: 1rem; }}
p, caption, figcaption, .notes {{ color: var(--soft); }}
p {{ margin: .25rem 0 .75rem; max-width: 60rem; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.25rem; margin: .5rem 0; }}
dt {{ font-weight: 600; }}
dd {{ margin: 0; overflow-wrap: anywhere; }}
code {{ font: .82rem/1.5 ui-monospace, "DejaVu Sans Mono", Consolas, monospace; }}
.facts {{ background: var(--raised); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; }}
.notes {{ padding-left: 1.25rem; }}
.scroll {{ overflow-x: auto; margin: .5rem 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; font-size: .92rem; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .28rem .8rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }}
th {{ font-weight: 600; vertical-align: bottom; }}
th:first-child {{ position: sticky; left: 0; text-align: left; background: var(--paper); padding-left: 0; }}
tbody th {{ font-weight: 400; }}
td.best {{ background: var(--best); font-weight: 600; }}
@media screen {{ .overview table {{ width: auto; }} }}
caption {{ text-align: left; padding: 0 0 .5rem; caption-side: top; }}
caption span {{ display: block; position: sticky; left: 0; width: min(100%, 100vw - 2rem); }}
.headline {{ color: var(--text); font-size: 1.15rem; font-weight: 600; line-height: 1.35; margin: .5rem 0 .75rem; }}
.words {{ font-size: .88rem; }}
.naive {{ font-style: italic; }}
.key {{ width: 2.1rem; height: .6rem; margin-right: .45rem; vertical-align: .05rem; fill: none; stroke-width: 2.2; }}
.panels {{ display: grid; grid-template-columns: repeat(2, 1fr); gap: 1.5rem 1.75rem; }}
figure {{ margin: 0; min-width: 0; break-inside: avoid; }}
figure.wide {{ grid-column: 1 / -1; }}
figcaption {{ font-size: .88rem; }}
figcaption b {{ display: block; color: var(--text); font-size: .98rem; }}
img {{ width: 100%; height: auto; display: none; margin-top: .25rem; }}
img.light {{ display: block; }}
@media {_DARK_SCREEN} {{ img.light {{ display: none; }} img.dark {{ display: block; }} }}
@media {_PHONE} {{ figure.wide img {{ display: none; }} figure.wide img.narrow-light {{ display: block; }} }}
@media {_PHONE} and (prefers-color-scheme: dark) {{
  figure.wide img.narrow-light {{ display: none; }}
  figure.wide img.narrow-dark {{ display: block; }}
}}
{_KEYS}
@media {_PHONE} {{
  body {{ padding: 1.25rem 1rem 3rem; }}
  h1 {{ font-size: 1.4rem; }}
  .panels {{ grid-template-columns: 1fr; }}
  dl {{ grid-template-columns: 1fr; gap: 0; }}
  dd {{ margin-bottom: .5rem; }}
  .scroll {{ overflow-x: visible; }}
  table, caption, tbody {{ display: block; }}
  thead {{ display: none; }}
  tr {{ display: grid; grid-template-columns: 1fr 1fr; gap: 0 1.25rem; padding: .5rem 0;
    border-bottom: 1px solid var(--line); }}
  tbody th {{ grid-column: 1 / -1; position: static; border: 0; padding: 0; font-weight: 600; white-space: normal;
    overflow-wrap: anywhere; }}
  td {{ display: flex; flex-wrap: wrap; justify-content: flex-end; gap: 0 .25rem; border: 0; padding: .05rem .3rem; }}
  td::before {{ content: attr(data-name); color: var(--soft); font-weight: 400; font-style: normal;
    margin-right: auto; }}
  td.none {{ display: none; }}
  .overview tr {{ grid-template-columns: 1fr; }}
}}
@media print {{
  body {{ padding: 0; max-width: none; font-size: 10pt; }}
  h1 {{ font-size: 18pt; }}
  h2 {{ font-size: 13pt; margin-top: 1.5rem; }}
  figcaption {{ font-size: 8pt; }}
  figcaption b {{ font-size: 9pt; }}
  code {{ font-size: 7.5pt; }}
  h2, h3 {{ break-after: avoid; }}
  tr {{ break-inside: avoid; }}
  table {{ font-size: 8pt; }}
  th, td {{ padding: .15rem .3rem; }}
  .scroll {{ overflow: visible; }}
  td.best {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
}}
"""
