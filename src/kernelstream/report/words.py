"""Numbers as people read them."""

from typing import Any

_NAMES = {"mistake_rate": "mistake rate", "mse": "MSE", "rmse": "RMSE"}
_PREFIXES = ("", "k", "M", "G", "T")


def metric_name(name: str) -> str:
    return _NAMES.get(name, name.replace("_", " "))


def metric_value(name: str, value: float) -> str:
    return f"{100 * value:.2f} %" if name.endswith("_rate") else f"{value:.5g}"


def count(value: float) -> str:
    return f"{value:,.0f}"


def seconds(value: float) -> str:
    if value < 1.0:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s" if value < 100.0 else f"{value:,.0f} s"


def size_in_bytes(value: float) -> str:
    for prefix in _PREFIXES:
        if value < 1000.0 or prefix == _PREFIXES[-1]:
            break
        value /= 1000.0
    return f"{value:.3g} {prefix}B"


def settings(parameters: dict[str, Any]) -> list[str]:
    """``name=value`` of flat parameters, the way the command line takes them."""
    shown = {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in parameters.items()}
    return [f"{name}={value}" for name, value in shown.items()]
