"""Items as they are written in TOML: what a table or figure shows, of which data, with which settings."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent
KINDS = ("table", "convergence", "sweep", "scatter", "surface")
HOLDOUT = "holdout"
PROTOCOLS = ("prequential", HOLDOUT)
ALL = "all"

_HEAD = {
    "title", "kind", "protocol", "metric", "risk", "percent", "runs", "settings", "learners", "data", "published",
    "explained", "tried", "seen", "stands_in", "budget_of_time", "like", "only_data", "only_learners", "y", "parameter",
    "values", "label",
    "scale_of", "checkpoints", "averaged",
}  # fmt: skip
_OF_ITS_CELLS = ("published", "explained", "tried", "seen", "stands_in")


class ItemError(ValueError):
    """An item's file says something that cannot be."""


class Published(NamedTuple):
    """A printed cell; what is not printed is None."""

    value: float | None
    sd: float | None = None
    seconds: float | None = None
    size: float | None = None
    risk: float | None = None
    test_seconds: float | None = None


@dataclass(frozen=True)
class Entrant:
    """A line of a table: one of our algorithms, a batch baseline, or one that cannot be run (`absent` says why)."""

    label: str
    algorithm: str | None = None
    baseline: str | None = None
    absent: str | None = None
    set: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataSet:
    """A column of a table. `absent` says why it cannot be run."""

    label: str
    source: str = ""
    task: str = "binary"
    orders: str | None = None
    in_order: bool = False  # a series: its rows are learned as they come
    scale: str = "none"
    scale_target: bool = False
    divide: float = 1.0
    sparse: bool | None = None
    dtype: str = "float32"
    positive: float | None = None
    rows: int | None = None
    test: str | None = None
    passes: int = 1
    tuned_rows: int = 0
    quick: bool = False
    absent: str | None = None
    without: tuple[str, ...] = ()  # learners that have no settings here, as the data was not at hand
    set: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Item:
    """A table or a figure."""

    paper: str
    name: str
    title: str
    kind: str = "table"
    protocol: str = "prequential"
    metric: str = "mistake_rate"
    risk: str = ""  # a loss that is shown beside the metric, and not judged
    percent: bool = False
    runs: int = 20
    settings: tuple[str, ...] = ()
    settings_source: str = ""
    entrants: tuple[Entrant, ...] = ()
    data: tuple[DataSet, ...] = ()
    published: dict[tuple[str, str], Published] = field(default_factory=dict)
    explained: dict[tuple[str, str], str] = field(default_factory=dict)
    tried: dict[tuple[str, str], str] = field(default_factory=dict)  # of cells for which no reason was found
    seen: dict[tuple[str, str], str] = field(default_factory=dict)  # what was chosen after a cell had been seen
    stands_in: str = ""  # the table of another paper that has some of these cells, and counts them
    budget_of_time: str = ""
    y: tuple[str, ...] = ("metric", "seconds")
    parameter: str = ""
    values: tuple[float, ...] = ()
    label: str = ""
    scale_of: dict[str, float] = field(default_factory=dict)
    checkpoints: tuple[int, ...] = ()
    averaged: dict[str, float] = field(default_factory=dict)  # by learner: over which last share of its rows

    @property
    def path(self) -> str:
        return f"{self.paper}/{self.name}"

    @property
    def larger_is_better(self) -> bool:
        return self.metric == "accuracy"

    def settings_of(self, entrant: Entrant, data: DataSet) -> list[str]:
        """All settings of a cell; what comes later overrules."""
        given = [
            *(self.settings if entrant.algorithm is not None else ()),
            *entrant.set,
            *data.set.get(ALL, ()),
            *data.set.get(entrant.label, ()),
        ]
        return list({setting.partition("=")[0]: setting for setting in given}.values())

    def narrowed(self, *, quick: bool) -> "Item":
        """The item, of the small data sets only."""
        return replace(self, data=tuple(d for d in self.data if d.quick)) if quick else self


def names() -> list[str]:
    """Every item as paper/item, in the papers' order."""
    return [f"{paper}/{name}" for paper in papers() for name in _items(paper)]


def papers() -> list[str]:
    return sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir() and any(folder.glob("*.toml")))


def find(path: str) -> Item:
    """The item called paper/item."""
    paper, _, name = path.partition("/")
    file = FOLDER / paper / f"{name}.toml"
    if name == "claims" or path not in names():
        raise ItemError(f"there is no item {path!r}; there are {', '.join(names())}")
    return _item(paper, name, _read(file), file)


def claims(paper: str) -> list[dict[str, Any]]:
    """What a paper claims, as its claims.toml has it."""
    file = FOLDER / paper / "claims.toml"
    return list(_read(file).get("claim", [])) if file.exists() else []


def _items(paper: str) -> Iterator[str]:
    def key(name: str) -> tuple[bool, int, str]:
        kind, _, number = name.partition("-")
        return kind != "table", int("".join(c for c in number if c.isdigit()) or 0), name

    yield from sorted((f.stem for f in (FOLDER / paper).glob("*.toml") if f.stem != "claims"), key=key)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ItemError(f"{file}: {error}") from None


def _item(paper: str, name: str, raw: dict[str, Any], file: Path) -> Item:
    unknown = set(raw) - _HEAD
    if unknown:
        raise ItemError(f"{file} has unknown keys {', '.join(sorted(unknown))}")
    if "like" in raw:
        like = _read(FOLDER / paper / f"{raw['like']}.toml")
        raw = {**{k: v for k, v in like.items() if k not in _OF_ITS_CELLS}, **raw}
    for key, allowed in (("kind", KINDS), ("protocol", PROTOCOLS)):
        if raw.get(key, allowed[0]) not in allowed:
            raise ItemError(f"{file} has {key} {raw[key]!r}; it must be one of {', '.join(allowed)}")
    entrants = [_entrant(label, given, file) for label, given in raw.get("learners", {}).items()]
    data = [_data_set(label, given, file) for label, given in raw.get("data", {}).items()]
    if "only_data" in raw:
        data = [one for one in data if one.label in raw["only_data"]]
    if "only_learners" in raw:
        entrants = [one for one in entrants if one.label in raw["only_learners"]]
    labels = {one.label for one in entrants}, {one.label for one in data}
    settings = raw.get("settings", {})
    published = {
        k: Published(*(None if v != v else v for v in row)) for k, row in _cells(raw, "published", labels, file)
    }
    if raw.get("kind", "table") == "table" and not settings.get("source"):
        raise ItemError(f"{file} does not say where its settings come from: settings.source")
    names = ("title", "kind", "protocol", "metric", "risk", "percent", "runs", "budget_of_time")
    plain = {name: raw[name] for name in names if name in raw}
    return Item(
        paper=paper,
        name=name,
        **plain,
        settings=tuple(settings.get(ALL, ())),
        settings_source=settings.get("source", ""),
        entrants=tuple(entrants),
        data=tuple(data),
        published=published,
        explained=dict(_cells(raw, "explained", labels, file)),
        tried=dict(_cells(raw, "tried", labels, file)),
        seen=dict(_cells(raw, "seen", labels, file)),
        stands_in=raw.get("stands_in", ""),
        y=tuple(raw.get("y", ("metric", "seconds"))),
        parameter=raw.get("parameter", ""),
        values=tuple(raw.get("values", ())),
        label=raw.get("label", raw.get("parameter", "")),
        scale_of=raw.get("scale_of", {}),
        checkpoints=tuple(raw.get("checkpoints", ())),
        averaged=raw.get("averaged", {}),
    )


def _cells(
    raw: dict[str, Any], key: str, labels: tuple[set[str], set[str]], file: Path
) -> Iterator[tuple[tuple[str, str], Any]]:
    """What an item says of single cells; `all` are those of a data set that have a published number."""
    for data, cells in raw.get(key, {}).items():
        for entrant, cell in cells.items():
            printed = raw.get("published", {}).get(data, {})
            for label in printed if entrant == ALL else (entrant,):
                if data not in labels[1] or label not in labels[0]:
                    raise ItemError(f"{file}: {key} has {data} / {label}, which is not among its data and learners")
                yield (data, label), cell


def _entrant(label: str, given: dict[str, Any], file: Path) -> Entrant:
    kinds = [kind for kind in ("algorithm", "baseline", "absent") if kind in given]
    if len(kinds) != 1 or set(given) - {kinds[0], "set"}:
        raise ItemError(f"{file}: learner {label} needs one of algorithm, baseline, absent, and may have set")
    return Entrant(label, **{kinds[0]: given[kinds[0]]}, set=tuple(given.get("set", ())))


def _data_set(label: str, given: dict[str, Any], file: Path) -> DataSet:
    known = set(DataSet.__dataclass_fields__) - {"label"}
    if set(given) - known:
        raise ItemError(f"{file}: data {label} has unknown keys {', '.join(sorted(set(given) - known))}")
    if "source" not in given and "absent" not in given:
        raise ItemError(f"{file}: data {label} needs a source, or says why it is absent")
    sets = {name: tuple(settings) for name, settings in given.get("set", {}).items()}
    plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items() if k != "set"}
    return DataSet(label, **plain, set=sets)
