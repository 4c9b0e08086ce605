"""What operators see: metrics for Prometheus, one JSON line a request. Neither holds a label or a feature."""

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
        self.registry.register(self)

    def begin(self) -> float:
        self._active.inc()
        return time.perf_counter()

    def end(self, began: float, operation: str, line: dict[str, Any]) -> None:
        """Note a request; `line` is what else is known of it."""
        took = time.perf_counter() - began
        self._active.dec()
        self._requests.labels(operation, str(line["status"])).inc()
        self._seconds.labels(operation).observe(took)
        if operation not in self._times:
            self._times[operation] = deque(maxlen=_NEWEST)
        self._times[operation].append((time.time(), took))
        if line["status"] >= 400 or random.random() < self._share:
            level = logging.WARNING if line["status"] >= 500 else logging.INFO
            requests.log(level, "", extra={"line": {"operation": operation, "ms": round(1e3 * took, 3), **line}})

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
                "drifts": len(model["error"]["drifts"]),
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


class _Lines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        told: dict[str, Any] = {"at": round(record.created, 3), "level": record.levelname.lower()}
        line = getattr(record, "line", None)
        told |= {"message": record.getMessage()} if line is None else line
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
