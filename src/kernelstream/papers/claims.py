"""What papers claim of their tables and figures, checked against ours."""

from collections.abc import Sequence
from typing import Any

from .items import Item
from .results import Result


def check_claim(item: Item, result: Result, claim: dict[str, Any]) -> tuple[bool | None, str]:
    """Whether a claim holds by our means (None: nothing to judge by), and on which data.

    Its keys: `better` and `than` are learners, `near`, `smaller` and `faster` compare two, `trend` follows learners
    along a sweep; all that are given must hold on a data set, on as large a `share` of data sets (all).
    """
    holds: dict[str, bool] = {}
    for data in dict.fromkeys(cell.data for cell in result.cells):
        tests = [
            *_ahead(item, result, data, claim),
            *_near(result, data, claim),
            *_smaller(result, data, claim),
            *_faster(result, data, claim),
            *_trends(result, data, claim),
        ]
        if tests:
            holds[data] = all(tests)
    if not holds:
        return None, "no data"
    share = sum(holds.values()) / len(holds)
    failed = [data for data, held in holds.items() if not held]
    where = f"{sum(holds.values())} of {len(holds)} data sets" + (f"; not on {', '.join(failed)}" if failed else "")
    return share >= claim.get("share", 1.0), where


def _means(result: Result, data: str, learners: Sequence[str], swept: float | None = None) -> list[float]:
    """The means of learners on a data set, where a parameter has a value in a sweep."""
    found = (cell for cell in result.cells if cell.data == data and cell.learner in learners and cell.swept == swept)
    return [cell.mean for cell in found if cell.ran]


def _ahead(item: Item, result: Result, data: str, claim: dict[str, Any]) -> list[bool]:
    """Whether the best of some are ahead of the best of others; in a sweep at each value, or at the two of `at`."""
    if "better" not in claim:
        return []
    held = []
    values = [(value, value) for value in dict.fromkeys(cell.swept for cell in result.cells)]
    for pair in [claim["at"]] if "at" in claim else values:
        left, right = (_means(result, data, claim[side], at) for side, at in zip(("better", "than"), pair, strict=True))
        if left and right:
            held.append(max(left) > max(right) if item.larger_is_better else min(left) < min(right))
    return held


def _trends(result: Result, data: str, claim: dict[str, Any]) -> list[bool]:
    """Whether a quantity goes up or down for each learner, from the first value of a sweep to the last."""
    trend = claim.get("trend")
    if trend is None:
        return []
    of = {"metric": lambda cell: cell.mean, "seconds": lambda cell: cell.mean_seconds, "size": lambda cell: cell.size}
    held = []
    for learner in trend["learners"]:
        mine = [cell for cell in result.cells if (cell.data, cell.learner) == (data, learner) and cell.ran]
        if len(mine) > 1:
            first, last = of[trend["of"]](mine[0]), of[trend["of"]](mine[-1])
            held.append(last > first if trend["goes"] == "up" else last < first)
    return held


def _near(result: Result, data: str, claim: dict[str, Any]) -> list[bool]:
    pair = claim.get("near")
    values = [] if pair is None else _means(result, data, [pair["left"]]) + _means(result, data, [pair["right"]])
    return [abs(values[0] - values[1]) <= pair["within"]] if pair is not None and len(values) == 2 else []


def _smaller(result: Result, data: str, claim: dict[str, Any]) -> list[bool]:
    return _ratio(result, data, claim.get("smaller"), lambda cell: cell.size)


def _faster(result: Result, data: str, claim: dict[str, Any]) -> list[bool]:
    return _ratio(result, data, claim.get("faster"), lambda cell: cell.mean_seconds)


def _ratio(result: Result, data: str, pair: dict[str, Any] | None, of: Any) -> list[bool]:
    if pair is None:
        return []
    left, right = (result.cell(data, pair[side]) for side in ("left", "right"))
    if left is None or right is None or not left.ran or not right.ran:
        return []
    return [of(left) * pair.get("times", 1.0) <= of(right)]
