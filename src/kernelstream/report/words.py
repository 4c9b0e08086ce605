"""Numbers as people read them."""

import math
import re
import unicodedata
from typing import Any

from ..metrics import METRICS

_NAMES = {"mse": "MSE", "rmse": "RMSE", "mae": "MAE", "auc": "AUC", "f1": "F1", "r2": "R²"}
_NAMES |= {"faded_mae": "faded MAE"}
_PREFIXES = ("", "k", "M", "G", "T")

DASH = "-"
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = re.compile(r"[=+\-@\t\r]")
# Characters that steer a terminal or turn the direction of text, and bytes that were no text.
_STEERING = ("Cc", "Cs", "Cf")


def printable(text: str) -> str:
    """The text with every character that could steer a terminal spelled out; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(
        repr(letter)[1:-1] if unicodedata.category(letter) in _STEERING and letter not in "\n\t" else letter
        for letter in text
    )


def shown(text: str) -> str:
    """The text for a table of the terminal."""
    from rich.markup import escape  # pictures do without it

    return escape(printable(text))


def cell(value: Any) -> Any:
    """A value for a CSV file: words that a spreadsheet would take for a formula begin with an apostrophe."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) and not _is_number(value) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def metric_name(name: str) -> str:
    return _NAMES.get(name, name.replace("_", " "))


def sentence(text: str) -> str:
    """The text with a capital at its start."""
    return text[:1].upper() + text[1:]


def is_share(name: str) -> bool:
    """Whether a metric is a share of the rows, to be read in percent."""
    return name.endswith("_rate")


def larger_is_better(name: str) -> bool:
    return name in METRICS and METRICS[name].larger_is_better


def metric_value(name: str, value: float, deviation: float | None = None) -> str:
    """A metric, with its standard deviation over repeats where there is one."""
    if math.isnan(value):
        return DASH
    if is_share(name):
        return f"{100 * value:.2f}{'' if deviation is None else f' ± {100 * deviation:.2f}'} %"
    return f"{value:.5g}" if deviation is None else f"{value:.5g} ± {deviation:.2g}"


def count(value: float) -> str:
    return f"{value:,.0f}"


def known(value: float) -> str:
    """A count for which 0 means that it is not known."""
    return count(value) if value > 0 else DASH


def seconds(value: float) -> str:
    if value < 1.0:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s" if value < 100.0 else f"{value:,.0f} s"


def size_in_bytes(value: float) -> str:
    """Bytes; 0 means that they are not known."""
    if value == 0:
        return DASH
    for prefix in _PREFIXES:
        if value < 999.5 or prefix == _PREFIXES[-1]:
            break
        value /= 1000.0
    return f"{value:.3g} {prefix}B"


def settings(parameters: dict[str, Any]) -> list[str]:
    """``name=value`` of flat parameters, the way the command line takes them."""
    shown = {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in parameters.items()}
    return [f"{name}={value}" for name, value in shown.items()]
