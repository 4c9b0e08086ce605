"""Tables of HTML, which become cards on a phone."""

from collections.abc import Sequence
from typing import NamedTuple

from . import words


class Cell(NamedTuple):
    """A cell of a table, as HTML."""

    text: str
    best: bool = False

    @property
    def kind(self) -> str:
        return " class=best" if self.best else " class=none" if self.text == words.DASH else ""


class Row(NamedTuple):
    first: str
    cells: Sequence[Cell]
    kind: str = ""


def table(caption: str, head: Sequence[str], rows: Sequence[Row]) -> str:
    """A table of HTML cells. On a phone a row is a card, in which each cell that holds something says what it is."""
    top = "".join(f"<th scope=col>{name}</th>" for name in head)
    names = [name.replace("<br>", ", ") for name in head[1:]]
    lines = []
    for row in rows:
        cells = "".join(
            f'<td{cell.kind} data-name="{name}">{cell.text}</td>' for name, cell in zip(names, row.cells, strict=True)
        )
        kind = f" class={row.kind}" if row.kind else ""
        lines.append(f"<tr{kind}><th scope=row>{row.first}</th>{cells}</tr>")
    body = "\n".join(lines)
    above = f"<caption><span>{caption}</span></caption>" if caption else ""
    return f'<div class="scroll"><table>{above}<thead><tr>{top}</tr></thead>\n<tbody>{body}</tbody></table></div>'
