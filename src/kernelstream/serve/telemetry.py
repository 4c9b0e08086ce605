"""What operators see: metrics for Prometheus, one JSON line a request. Neither holds a label or a feature."""

import asyncio
import contextlib
import json
import logging
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from .settings import Settings

_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_LINES = 0.05  # seconds that a line may wait
_NEWEST = 2000  # requests of a kind whose times are kept
requests = logging.getLogger("kernelstream.requests")
_OF_MODELS: dict[str, tuple[Any, str]] = {
    "rows_learned": (CounterMetricFamily, "Rows learned."),
    "rows_waiting": (GaugeMetricFamily, "Rows that wait for their labels."),
    "rows_given_up": (CounterMetricFamily, "Rows whose labels did not come in time."),
    "rows_queued": (GaugeMetricFamily, "Rows that wait to be learned."),
    "error": (GaugeMetricFamily, "Error over all rows, each predicted before it was learned."),
    "error_newest": (GaugeMetricFamily, "Error over the newest rows."),
    "drifts": (CounterMetricFamily, "Rises of the error that were noticed."),
    "begun_anew": (CounterMetricFamily, "Times that a model began anew on drift."),
    "model_bytes": (GaugeMetricFamily, "Bytes of a model."),
    "log_bytes": (GaugeMetricFamily, "Bytes of a model's log."),
    "log_records": (GaugeMetricFamily, "Records of a model's log."),
    "published_seconds": (GaugeMetricFamily, "Age of what predictions see, while it is not the newest."),
}


class Telemetry:
    """Counts and times of requests, and what models say when they are asked."""

    def __init__(self, settings: Settings, described: Callable[[], Iterable[dict[str, Any]]]):
        """described: what each model is at the moment."""
        self.registry = CollectorRegistry()
        self._share, self._described = settings.log_share, described
        labels = ("operation", "status")
        self._requests = Counter("kernelstream_requests", "Requests by outcome.", labels, registry=self.registry)
        self._seconds = Histogram(
            "kernelstream_request_seconds", "Time to answer.", ("operation",), buckets=_SECONDS, registry=self.registry
        )
        self._active = Gauge(
            "kernelstream_requests_active", "Requests that are being answered.", registry=self.registry
        )
        self._times: dict[str, deque[tuple[float, float]]] = {}
        self._children: dict[tuple[str, int], tuple[Any, Any]] = {}  # looked up once
        self.registry.register(self)
        self._lines = Lines(sys.stderr.buffer)

    def begin(self) -> float:
        self._active.inc()
        return time.perf_counter()

    def end(self, began: float, operation: str, line: dict[str, Any]) -> None:
        """Note a request; `line` is what else is known of it."""
        took = time.perf_counter() - began
        self._active.dec()
        status = line["status"]
        if (operation, status) not in self._children:
            counter, histogram = self._requests.labels(operation, str(status)), self._seconds.labels(operation)
            self._children[operation, status] = counter, histogram
            self._times.setdefault(operation, deque(maxlen=_NEWEST))
        counter, histogram = self._children[operation, status]
        counter.inc()
        histogram.observe(took)
        now = time.time()
        self._times[operation].append((now, took))
        if status >= 400 or self._share == 1.0 or random.random() < self._share:
            level = logging.WARNING if status >= 500 else logging.INFO
            if requests.isEnabledFor(level):
                told = {"at": round(now, 3), "level": logging.getLevelName(level).lower(), "operation": operation}
                self._lines.write(msgspec.json.encode(told | {"ms": round(1e3 * took, 3), **line}) + b"\n")

    def flush(self) -> None:
        """Write the lines that wait."""
        self._lines.flush()

    def latency(self, operation: str) -> dict[str, float] | None:
        """p50 and p99 of the newest requests, in milliseconds, and how many came in the last ten seconds."""
        times = list(self._times.get(operation, ()))
        if not times:
            return None
        took, since = sorted(t for _, t in times), time.time() - 10.0
        p50, p99 = (1e3 * took[min(len(took) - 1, int(share * len(took)))] for share in (0.5, 0.99))
        return {"p50": p50, "p99": p99, "a_second": sum(at > since for at, _ in times) / 10.0}

    def collect(self) -> Iterable[Any]:
        """What Prometheus asks of the models."""
        families: dict[str, Any] = {
            name: kind(f"kernelstream_{name}", words, labels=["model", "metric"] if "error" in name else ["model"])
            for name, (kind, words) in _OF_MODELS.items()
        }
        for model in self._described():
            counts = ("rows_learned", "rows_waiting", "rows_given_up", "rows_queued")
            values = {
                **{name: model[name] for name in counts},
                "model_bytes": model["bytes"],
                "drifts": model["error"]["risen"],
                "begun_anew": 0 if model["drift"] is None else model["drift"]["begun_anew"],
                "log_bytes": model["log"]["bytes"],
                "log_records": model["log"]["records"],
                "published_seconds": model["published"]["behind_seconds"],
            }
            for name, value in values.items():
                families[name].add_metric([model["name"]], value)
            for name, which in (("error", "all"), ("error_newest", "newest")):
                if model["error"][which] is not None:
                    families[name].add_metric([model["name"], model["error"]["metric"]], model["error"][which])
        return families.values()


class Lines:
    """Lines of requests, which are written together: a line of its own would cost a request as much as its answer."""

    def __init__(self, file: Any):
        self._file, self._waiting = file, bytearray()

    def write(self, line: bytes) -> None:
        """Requires: an event loop."""
        if not self._waiting:
            asyncio.get_running_loop().call_later(_LINES, self.flush)
        self._waiting += line

    def flush(self) -> None:
        lines, self._waiting = bytes(self._waiting), bytearray()
        with contextlib.suppress(OSError, ValueError):  # nobody reads them any more
            self._file.write(lines)
            self._file.flush()


class _Lines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {"at": round(record.created, 3), "level": record.levelname.lower()}
        told["message"] = record.getMessage()
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        try:
            return msgspec.json.encode(told).decode()
        except TypeError:
            return json.dumps(told, default=repr)


def log_to_stderr(settings: Settings) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines())
    for name in ("kernelstream", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers[:], logger.propagate = [handler], False
        logger.setLevel(settings.log_level.upper())
