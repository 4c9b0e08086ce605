"""A model of `auto` with more features, more outputs, with what another learned, or without it."""

from typing import TYPE_CHECKING

import numpy as np

from ..engine import Shape
from ..engine.state import copied, split, tally
from ..numerics import boxes as boxing
from ..numerics import recent as forgetting
from ..numerics.cells import fewer_cells
from ..numerics.parts import Parts
from ..numerics.pending import without
from ..numerics.recent import RATES
from ..numerics.second_order import for_outputs, of_both, solved, with_waiting
from ..numerics.settling import FIRST, LAST, WIDEST_FULL, Columns, later_directions, stretched
from ..numerics.shown import none_shown
from ..numerics.waking import Waking, awake_in_either
from ._auto_state import N_PARTS, AutoState, begun_anew, building_row, built_row, untried

if TYPE_CHECKING:
    from .auto import Auto


def with_features(state: AutoState, d: int) -> AutoState:
    before, metrics = len(state.map), state.metrics

    def wider(array: np.ndarray, axis: int, fill: float = 0.0) -> np.ndarray:
        return longer(array, axis, d, fill)

    plain = state.recent.map
    drawn = later_directions(before, d, plain.shape[1], int(state.seed) + 1)
    rows = stretched(np.ones(d - before), forgetting.WIDTH, drawn, int(metrics.n_varying)).astype(plain.dtype)

    metrics = metrics._replace(diagonal=wider(metrics.diagonal, 0, 1.0))
    if d > WIDEST_FULL:  # from now on there is only the diagonal
        widths = np.array([metrics.widths[0] or metrics.widths[1], 0.0])
        metrics = metrics._replace(full=np.zeros((0, 0)), widths=widths, best=np.array(0))
    elif len(metrics.full) > 0:
        full = wider(wider(metrics.full, 0), 1)
        full[range(before, d), range(before, d)] = 1.0
        metrics = metrics._replace(full=full)
    return state._replace(
        columns=Columns(*(wider(array, 0) for array in state.columns)),
        map=wider(state.map, 0),
        recent=state.recent._replace(map=np.concatenate([plain, rows])),
        waking=Waking(*(wider(array, 0) for array in state.waking)),
        importances=wider(state.importances, 0),
        kept=state.kept._replace(x=wider(state.kept.x, 1)),
        boxes=state.boxes._replace(edges=wider(state.boxes.edges, 0)),
        metrics=metrics,
    )


def with_outputs(spec: "Auto", state: AutoState, K: int) -> AutoState:
    """With more classes, which no row so far has had."""
    known, parts, recent = len(state.mean), state.parts, state.recent
    if known == K:
        return state
    cells = parts.cells
    if len(cells):
        cells = fewer_cells(cells, min(cells.shape[1], spec.n_cells(K)))
    parts = parts._replace(
        lms=longer(parts.lms, 1, K),
        hinge=longer(parts.hinge, 1, K),
        averages=longer(parts.averages, 1, K, -1.0),
        cells=longer(cells, 2, K),
    )
    boxes = state.boxes
    if len(boxes.cells):
        boxes = boxing.fewer_places(boxes, min(boxes.rows.shape[1], spec.n_places(K)))
    boxes = boxes._replace(cells=longer(boxes.cells, 2, K))
    kept = state.kept._replace(rest=longer(state.kept.rest, 1, K, -1.0))
    sums, weights = for_outputs(with_waiting(copied(state.sums)), K), longer(state.weights, 0, K)
    b = np.concatenate([recent.b, np.repeat(-recent.total[:, None], K - known, axis=1)], axis=1)
    waiting_y = np.hstack([recent.waiting_y, np.repeat(-np.abs(recent.waiting_y[:, :1]), K - known, axis=1)])
    recent = recent._replace(b=b, waiting_y=waiting_y, weights=longer(recent.weights, 1, K))
    if state.t >= FIRST:
        weights[known:] = solved(sums.A + sums.newer, sums.b[known:], float(state.ridge))
        for i in range(len(RATES)):
            forgetting.solve(recent, i)
    shown = none_shown(N_PARTS, K, parts.lms.dtype)
    changed = state._replace(
        parts=parts, sums=sums, weights=weights, recent=recent, kept=kept, boxes=boxes, shown=shown
    )
    return begun_anew(changed._replace(mean=longer(state.mean, 0, K, -1.0)))


def split_in_two(spec: "Auto", state: AutoState, shape: Shape) -> AutoState:
    built, trying = built_row(int(state.t)), bool(state.shift.row > 0)
    one, two = (spec.empty(shape._replace(n_outputs=K), built, trying=trying) for K in (1, 2))
    halves = split(state, one, two)
    parts, sums, recent = halves.parts, halves.sums, halves.recent
    parts = parts._replace(lms=2 * parts.lms, averages=2 * parts.averages, cells=2 * parts.cells)
    recent = recent._replace(b=2 * recent.b, weights=2 * recent.weights, waiting_y=2 * recent.waiting_y)
    b, waiting_y, weights = (np.concatenate([-a[:1], a[:1]]) for a in (sums.b, sums.waiting_y.T, state.weights))
    return begun_anew(
        halves._replace(
            weights=weights,
            mean=2 * halves.mean,
            parts=parts,
            recent=recent,
            sums=sums._replace(b=b, waiting_y=np.ascontiguousarray(waiting_y.T)),
            kept=halves.kept._replace(targets=(halves.kept.targets + 1.0) / 2.0, rest=2 * halves.kept.rest),
            boxes=halves.boxes._replace(cells=2 * halves.boxes.cells),
            shown=none_shown(N_PARTS, 2, parts.lms.dtype),
        )
    )


def merged(
    spec: "Auto", state: AutoState, other: AutoState, weight: float, since: AutoState | None = None
) -> AutoState:
    """What rows tell least squares adds up; the other parts are averaged. Of two that begin behind different
    shifts one is chosen: the rows of the other tell of what is past, or are fewer.
    """
    if state.shift.heirs + other.shift.heirs > 0 and not np.array_equal(state.map, other.map):
        return copied(max(other, state, key=lambda one: (int(one.shift.heirs), int(one.t))))
    require_one_map(state, other)

    def mean(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        return ((1.0 - weight) * mine + weight * theirs).astype(mine.dtype)

    sums, recents = [], []
    for one in (state, other):
        sums.append(with_waiting(copied(one.sums)))
        recents.append(copied(one.recent))
        forgetting.add_waiting(recents[-1])
    scale = state.scale.copy()
    scale[2:] = min(scale[2], other.scale[2]), max(scale[3], other.scale[3])
    joined = of_both(*sums) if since is None else without(of_both(*sums), with_waiting(copied(since.sums)))
    columns, waking = awake_in_either((state.columns, state.waking), (other.columns, other.waking))
    joint = state._replace(
        columns=columns,
        waking=waking,
        sums=joined,
        recent=forgetting.of_both(*recents, once=since is not None),
        parts=Parts(*(mean(*pair) for pair in zip(state.parts, other.parts, strict=True))),
        boxes=state.boxes._replace(
            cells=mean(state.boxes.cells, other.boxes.cells), rows=mean(state.boxes.rows, other.boxes.rows)
        ),
        noise=mean(state.noise, other.noise),
        link=mean(state.link, other.link),
        **tally(state, other, since, "t"),
        scale=scale,
    )
    return spec.after(begun_anew(spec.solved(untried(joint))))


def unmerged(spec: "Auto", state: AutoState, other: AutoState) -> AutoState:
    """Without what the other's rows tell least squares; the other parts keep what they learned of them."""
    require_one_map(state, other)
    sums = without(*(with_waiting(copied(one.sums)) for one in (state, other)))
    recent = copied(state.recent)
    forgetting.add_waiting(recent)
    rest = state._replace(sums=sums, recent=recent, t=np.maximum(state.t - other.t, building_row(LAST)))
    return spec.after(begun_anew(spec.solved(untried(rest))))


def longer(array: np.ndarray, axis: int, n: int, fill: float = 0.0) -> np.ndarray:
    """The array with n places along an axis; what is new is `fill`."""
    shape = list(array.shape)
    shape[axis] = n - shape[axis]
    return np.concatenate([array, np.full(shape, fill, array.dtype)], axis=axis)


def require_one_map(state: AutoState, other: AutoState) -> None:
    if not np.array_equal(state.map, other.map):
        raise ValueError(
            "These learners have settled on different first rows. Have one learn the first "
            f"{building_row(LAST):,} rows, save it, and begin every other from its file."
        )
