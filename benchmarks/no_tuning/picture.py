"""The picture: error against rows a second."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

from kernelstream import ALGORITHMS
from kernelstream.report.plots import LIGHT, styled

from .measure import OVER_ALL, Results
from .sets import DRAWN, SETS

_LETTERS = 17  # points: what is 900 pixels wide is still read on a phone, where it is less than half as wide
_SHAPES = {  # what each learner is drawn as
    "auto": ("*", 26, LIGHT.curves[1]),
    "ridge": ("s", 11, LIGHT.curves[0]),
    "fogd": ("^", 12, LIGHT.curves[0]),
    "nogd": ("v", 12, LIGHT.curves[0]),
    "srp": ("D", 11, LIGHT.curves[2]),
    "arf": ("P", 13, LIGHT.curves[2]),
    "river arf": ("X", 13, LIGHT.curves[2]),
    "sgd": ("<", 12, LIGHT.curves[2]),
    "mlp": (">", 12, LIGHT.curves[2]),
}
_WORDS = {
    "srp": "CapyMOA: patches",
    "arf": "CapyMOA: forest",
    "river arf": "River: forest",
    "sgd": "scikit-learn: RBF + SGD",
    "mlp": "scikit-learn: MLP",
}
_RATES = {1e2: "100", 1e4: "10k", 1e6: "1M"}


def write_picture(results: Results, path: Path) -> None:
    """One panel a data set; the lower and the farther right, the better."""
    with styled(LIGHT):
        figure = Figure(figsize=(9.0, 10.5), layout="constrained")
        for panel, name in zip(figure.subplots(2, 2).reshape(-1), DRAWN, strict=True):
            for peer in (*(one for one in ALGORITHMS if one not in _SHAPES), *reversed(_SHAPES)):
                shape, size, colour = _SHAPES.get(peer, ("o", 8, "#b0b7bf"))
                at = results.speed(name, peer), results.error(name, peer, OVER_ALL)
                if np.isfinite(at).all():
                    panel.plot(*at, shape, markersize=size, color=colour, markeredgecolor=LIGHT.paper, label=peer)
            _finish(panel, results, name)
        handles = {line.get_label(): line for panel in figure.axes for line in panel.get_lines()}
        shown = [peer for peer in _SHAPES if peer in handles]
        words = [_WORDS.get(peer, peer) for peer in shown]
        others = [peer for peer in handles if peer in ALGORITHMS and peer not in _SHAPES]
        if others:
            shown, words = [*shown, others[0]], [*words, "our other learners"]
        if "no change" in handles:
            shown, words = [*shown, "no change"], [*words, "no change"]
        drawn = [handles[peer] for peer in shown]
        figure.legend(drawn, words, loc="outside lower center", ncols=2, fontsize=_LETTERS, numpoints=1)
        figure.savefig(path, dpi=100)


def _finish(panel: Any, results: Results, name: str) -> None:
    copied = results.error(name, "no change", OVER_ALL)
    if np.isfinite(copied):
        panel.axhline(copied, color=LIGHT.text, linewidth=1.5, linestyle=(0, (4, 3)), label="no change")
    panel.set(xscale="log", yscale="log", xlim=(100, 1e7))
    low, high = panel.get_ylim()
    panel.set_ylim(low, min(high, 1.5))
    panel.xaxis.set_major_locator(FixedLocator(list(_RATES)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _RATES.get(value, "")))
    panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.tick_params(labelsize=_LETTERS - 2)
    panel.set_title(name, fontsize=_LETTERS)
    panel.set_xlabel("rows a second", fontsize=_LETTERS)
    panel.set_ylabel("squared error / variance" if SETS[name].regression else "mistake rate", fontsize=_LETTERS)
    panel.grid(color=LIGHT.faint, linewidth=0.7)
    panel.set_axisbelow(True)
