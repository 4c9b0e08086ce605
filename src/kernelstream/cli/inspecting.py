"""``kernelstream inspect``: what is in a saved model."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..engine import disk
from ..extras import require
from ..learner import Learner
from .looking import say
from .places import check_directory, check_places


def inspect(
    model: Annotated[Path, typer.Argument(help="A file that `run --save` wrote.")],
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Draw what can be drawn: two features, importances, a stack's weights, images.",
        ),
    ] = None,
    image_shape: Annotated[
        str | None, typer.Option(metavar="HxW", help="The points are images of this height and width.")
    ] = None,
    card: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a card in Markdown: what it is, its training, errors and limits."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show what is in a saved model, and draw it."""
    from ..report.description import describe
    from ..report.tables import facts_table

    shape = None if image_shape is None else _shape(image_shape)
    if shape is not None and output is None:
        raise ValueError("--image-shape is for drawing; say where to with --output DIR.")
    if output is not None:
        require("matplotlib")
        check_directory("--output", output)
    check_places({"MODEL": model}, {"--card": card})
    learner, header = Learner.load_with_header(model)
    names = header.get("feature_names")
    facts = describe(learner, names)
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        Console().print(facts_table(str(model), facts))
    if card is not None:
        from ..report.cards import card as written_card

        disk.write_text(card, written_card(model.name, learner, header))
        say(Console(stderr=True), f"wrote {card}")
    if output is not None:
        from ..report.inspection import write_inspection

        written = write_inspection(output, learner, image_shape=shape, names=names)
        say(Console(stderr=True), *(f"wrote {path}" for path in written))
        if not written:
            say(
                Console(stderr=True),
                "there is nothing to draw: a surface, importances, weights, widths or images are",
            )


def _shape(text: str) -> tuple[int, int]:
    height, cross, width = text.lower().partition("x")
    if not (cross and height.isdecimal() and width.isdecimal()):
        raise ValueError(f"--image-shape {text!r} is not height x width; write it like 28x28.")
    return int(height), int(width)
