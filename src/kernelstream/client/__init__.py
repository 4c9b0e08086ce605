"""A client of ``kernelstream serve``: rows as arrays, lists, dictionaries or tables; each row is learned once.

Whatever changes a model by rows carries an Idempotency-Key, and is sent again, byte for byte, until it is answered:
what the service has learned already it does not learn again. A call with many rows is cut into several requests, each
with a key made of the call's own: a call that was given up can be made again under that key, and goes on where it was.
"""

import contextlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias
from urllib.parse import quote

import numpy as np

from ..engine import disk
from ..extras import needing
from ..teaching import explained
from .rows import Rows, Said, as_json, as_values
from .tries import ServiceError, Tries

with needing("httpx"):
    import httpx

__all__ = ["Client", "Model", "ServiceError"]

Described: TypeAlias = dict[str, Any]

_MOST_LETTERS = 180  # of a key; the service takes 200, and the requests of a call are numbered


@explained(name="of the model")
class Client:
    """A service at an address: its models, made and removed.

    Parameters
    ----------
    url : where the service is
    token : for services that ask for one
    timeout : seconds that an answer may take
    retries : how often a request is sent again when nobody answers, or when the service is busy (429, 503) or its disk
        full (507); waits grow from 0.1 to 5 seconds, or are what the service asks for
    rows : of one request at the most
    verify : False, or an ssl.SSLContext, for certificates that this machine does not know

    Examples
    --------
    >>> from kernelstream.client import Client
    >>> with Client("http://127.0.0.1:8000") as client:
    ...     model = client.make("example", task="binary", classes=["no", "yes"], algorithm="rbp")
    ...     ready = client.ready(), [told["name"] for told in client.models()].count("example")
    ...     client.delete("example")
    >>> ready
    (True, 1)
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        retries: int = 10,
        rows: int = 10_000,
        verify: Any = True,
    ):
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is no address of a service; it begins with http:// or https://.")
        if not (timeout > 0 and retries >= 0 and rows >= 1):
            raise ValueError(f"{timeout=}, {retries=}, {rows=}: timeout must be above 0, retries 0 or more, rows 1.")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise ValueError("The token has letters that no token has; was it copied whole, and alone?")
        self.url, self.rows = url.rstrip("/"), rows
        self._retries = retries
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=self.url, headers=headers, timeout=timeout, verify=verify)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def ready(self) -> bool:
        """Whether the service answers and has read all its models."""
        try:
            return self._http.get("/v2/health/ready").status_code == 200
        except httpx.TransportError:
            return False

    def models(self) -> list[Described]:
        """What is told of each model."""
        return self.ask("GET", "/v2/models").json()["models"]

    def model(self, name: str) -> "Model":
        """The model of this name; nothing is asked yet."""
        return Model(self, name)

    def make(
        self,
        name: str,
        *,
        task: str,
        classes: Sequence[Any] | None = None,
        algorithm: str | Mapping[str, Any] = "auto",
        **settings: Any,
    ) -> "Model":
        """Make a model, or go on with the one that is there and the same.

        task: "binary", "multiclass" or "regression". classes: the labels. algorithm: a learner's name, or
        {"name": "fogd", "n_components": 400}. settings: seed, dtype, scaling, missing, categorical, hash_features,
        dates, waiting_rows, waiting_seconds, drift, on_drift.

        >>> from kernelstream.client import Client
        >>> with Client("http://127.0.0.1:8000") as client:
        ...     model = client.make("prices", task="regression", algorithm="ridge", drift="adwin", on_drift="restart")
        ...     name = model.describe()["algorithm"]["name"]
        ...     client.delete("prices")
        >>> name
        'ridge'
        """
        asked = {"task": task, "algorithm": algorithm, **settings}
        asked |= {} if classes is None else {"classes": list(classes)}
        self.ask("PUT", _path(name), content=as_json(asked))
        return Model(self, name)

    def upload(self, name: str, path: str | Path) -> "Model":
        """Go on with the model of a file; makes the model where there is none."""
        content = Path(path).read_bytes()
        self.ask("PUT", _path(name, "file"), content=content, kind="application/octet-stream", repeat=False)
        return Model(self, name)

    def delete(self, name: str) -> None:
        """Delete a model with its log and its snapshots."""
        self.ask("DELETE", _path(name), repeat=False)

    def ask(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        kind: str = "application/json",
        key: str | None = None,
        repeat: bool = True,
    ) -> httpx.Response:
        """The answer to a request.

        method, path: of HTTP, below the address. content: bytes. kind: their type. key: under which the service does it
        once. repeat: it can be sent again where it is not known whether it was carried out
        """
        headers = {} if content is None else {"Content-Type": kind}
        headers |= {} if key is None else {"Idempotency-Key": key}
        tries = Tries(self.url, self._retries, repeat=repeat)
        while True:
            try:
                answer = self._http.request(method, path, content=content, headers=headers)
            except httpx.TransportError as error:
                tries.unanswered(error)
                continue
            if answer.is_success:
                return answer
            tries.refused(answer)

    def fetch(self, path: str, target: str | Path) -> None:
        """Write an answer to a file, which appears whole or not at all.

        path: below the address. target: of the file
        """
        tries = Tries(self.url, self._retries, repeat=True)
        while True:
            try:
                with self._http.stream("GET", path) as answer:
                    if answer.is_success:
                        with disk.appearing(target) as file:
                            for part in answer.iter_bytes():
                                file.write(part)
                        return
                    answer.read()
            except httpx.TransportError as error:
                tries.unanswered(error)
                continue
            tries.refused(answer)


@explained(
    X="rows, (n, features): an array, lists, dictionaries, or a table",
    name="of the snapshot",
    fresh="wait until all that was acknowledged is seen, whoever sent it",
)
class Model:
    """A model of a service. X is an array, or lists, of numbers; or rows with names: dictionaries, or a table of
    pandas, polars or Arrow.

    Parameters
    ----------
    client : the `Client` that asks
    name : of the model

    Examples
    --------
    >>> from kernelstream.client import Client
    >>> with Client("http://127.0.0.1:8000") as client:
    ...     model = client.make("rows", task="binary", classes=["no", "yes"], algorithm="rbp")
    ...     honest = model.learn([{"amount": 5.0}, {"amount": 900.0}], ["no", "yes"])
    ...     said = model.predict([{"amount": 700.0}], ids=["tx-1"])
    ...     told = model.label({"tx-1": "yes"})
    ...     client.delete("rows")
    >>> len(honest), len(said), told
    (2, 1, {'tx-1': 'learned'})
    """

    def __init__(self, client: Client, name: str):
        self.client, self.name = client, name

    def __repr__(self) -> str:
        return f"Model({self.name!r} at {self.client.url})"

    def learn(self, X: Any, y: Any, sample_weight: Any = None, key: str | None = None) -> np.ndarray:
        """Learn rows; what was said of each before it was learned. They are durable then, and learned once.

        key: for a call that may have to be made again, be it by another process: what was learned under it is not
        learned again. Rows, and `rows` of the client, have to be the same.

        >>> from kernelstream.client import Client
        >>> with Client("http://127.0.0.1:8000") as client:
        ...     model = client.make("colours", task="multiclass", algorithm="rbp")
        ...     honest = model.learn([{"r": 1.0}, {"g": 1.0}, {"r": 0.9}], ["red", "green", "red"], key="monday")
        ...     again = model.learn([{"r": 1.0}, {"g": 1.0}, {"r": 0.9}], ["red", "green", "red"], key="monday")
        ...     rows = model.describe()["rows_learned"]
        ...     client.delete("colours")
        >>> again.tolist() == honest.tolist(), rows
        (True, 3)
        """
        rows = Rows(X).add(label=y, weight=sample_weight)
        return np.concatenate([said.predictions for said in self._asked("learn", rows, key or _new())])

    def predict(self, X: Any, ids: Any = None, fresh: bool = False, key: str | None = None) -> np.ndarray:
        """Labels or values, (n,).

        ids: words under which the rows wait, durably, for their labels (see `label`). key: as for `learn`, of rows with
        ids.
        """
        rows, key = Rows(X).add(id=ids), None if ids is None else key or _new()
        return np.concatenate([said.predictions for said in self._asked("predict", rows, key, fresh=fresh)])

    def predict_proba(self, X: Any, fresh: bool = False) -> np.ndarray:
        """Probabilities, a column for each of the classes that `describe` tells.

        >>> from kernelstream.client import Client
        >>> with Client("http://127.0.0.1:8000") as client:
        ...     model = client.make("chances", task="binary", classes=["no", "yes"], algorithm="rbp")
        ...     honest = model.learn([[0.0], [1.0]], ["no", "yes"])
        ...     chances = model.predict_proba([[0.1], [0.5], [0.9]], fresh=True)
        ...     client.delete("chances")
        >>> chances.shape
        (3, 2)
        """
        found = [said.probabilities for said in self._asked("predict", Rows(X), None, fresh=fresh)]
        if found[0] is None:
            raise ValueError(f"The model {self.name!r} is no classifier and has no probabilities; use predict.")
        return np.concatenate(found)

    def decision_function(self, X: Any, fresh: bool = False) -> np.ndarray:
        """Scores: (rows,) of two classes and of regression, (rows, classes) of several."""
        scores = np.concatenate([said.scores for said in self._asked("predict", Rows(X), None, fresh=fresh)])
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def label(self, labels: Mapping[str, Any], key: str | None = None) -> dict[str, str]:
        """Learn rows that were predicted with ids. What became of each: "learned"; "repeated", where its label had come
        before; "unknown", where it does not wait, or no longer; "refused: " and the reason.

        labels: by the ids. key: as for `learn`
        """
        if not isinstance(labels, Mapping):
            raise ValueError(f"The labels {labels!r:.60} have no ids; give them by these: label({{'tx-1': 'yes'}}).")
        given = list(zip(map(str, labels), as_values(list(labels.values()), "label"), strict=True))
        key = key or _new()
        found: dict[str, str] = {}
        for part, start in enumerate(range(0, len(given), self.client.rows)):
            content = as_json({"labels": dict(given[start : start + self.client.rows])})
            with _under(key, part) as own:
                told = self.client.ask("POST", self._path("labels"), content=content, key=own).json()
            reasons = told.get("reasons", {})
            found |= {id: f"{word}: {reasons[id]}" if id in reasons else word for id, word in told["labels"].items()}
        return found

    def describe(self) -> Described:
        """What the model is, and how it does."""
        return self.client.ask("GET", self._path()).json()

    def history(self) -> Described:
        """The error along the stream: points (rows, error of all, error of the newest), and where it changed."""
        return self.client.ask("GET", self._path("history")).json()

    def snapshot(self, name: str) -> Described:
        """Keep the model as it is under a name.

        >>> from kernelstream.client import Client
        >>> with Client("http://127.0.0.1:8000") as client:
        ...     model = client.make("heights", task="regression", algorithm="rbp")
        ...     honest = model.learn([[0.0], [1.0]], [1.0, 2.0])
        ...     kept = model.snapshot("two")
        ...     honest = model.learn([[2.0]], [3.0])
        ...     told = model.restore("two")
        ...     client.delete("heights")
        >>> kept["rows_learned"], told["rows_learned"]
        (2, 2)
        """
        return self.client.ask("POST", self._path("snapshots"), content=as_json({"name": name}), repeat=False).json()

    def restore(self, name: str) -> Described:
        """Go back to a snapshot: what was learned since is forgotten."""
        return self.client.ask("POST", self._path("snapshots", name, "restore"), repeat=False).json()

    def delete_snapshot(self, name: str) -> None:
        """Delete a snapshot."""
        self.client.ask("DELETE", self._path("snapshots", name), repeat=False)

    def download(self, path: str | Path) -> None:
        """Write the model file of all that was acknowledged, for `kernelstream.load` and the command."""
        self.client.fetch(self._path("file"), path)

    def _path(self, *parts: str) -> str:
        return _path(self.name, *parts)

    def _asked(self, verb: str, rows: Rows, key: str | None, *, fresh: bool = False) -> Iterator[Said]:
        """What is said of rows, request by request."""
        path = self._path(verb) + rows.query
        # All of them first: what is wrong with the last row is found before the first is learned.
        for part, (content, kind) in enumerate(list(rows.requests(self.client.rows))):
            now = f"{path}{'&' if rows.query else '?'}fresh=1" if fresh and part == 0 else path
            with _under(key, part) as own:
                yield Said(self.client.ask("POST", now, content=content, kind=kind, key=own))


def _new() -> str:
    return str(uuid.uuid4())


def _path(name: str, *parts: str) -> str:
    return "/".join(["/v2/models", *(quote(part, safe="") for part in (name, *parts))])


@contextlib.contextmanager
def _under(key: str | None, part: int) -> Iterator[str | None]:
    """The key of one request of a call; errors inside say under which key the call can be made again."""
    if key is not None and not (0 < len(key) <= _MOST_LETTERS and key.isascii() and key.isprintable()):
        raise ValueError(f"key={key!r:.240} must be 1 to {_MOST_LETTERS} plain letters.")
    try:
        yield None if key is None else f"{key}.{part}"
    except ServiceError as error:
        error.key = key
        raise
