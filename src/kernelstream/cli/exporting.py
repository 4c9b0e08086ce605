"""``kernelstream export``: a saved model as a graph that other runtimes read."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from .. import load, to_onnx
from ..engine import disk
from .looking import say
from .places import check_places


def export(
    model: Annotated[Path, typer.Argument(help="A file that `run --save` wrote.")],
    to: Annotated[Path, typer.Option(metavar="FILE", help="The file to write, such as model.onnx.")],
) -> None:
    """Write a saved model as a graph of ONNX, which predicts without kernelstream.

    Its scaling and its classes are inside; the first output is the label or the value.
    """
    if to.suffix != ".onnx":
        raise ValueError(f"--to {to} is to end in .onnx, the one format that a model is exported to.")
    check_places({"MODEL": model}, {"--to": to})
    graph = to_onnx(load(model)).SerializeToString()
    with disk.appearing(to) as file:
        file.write(graph)
    say(Console(stderr=True), f"wrote {to}")
