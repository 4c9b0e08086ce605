"""Packages that the library itself does without, and which extra brings each: what needs one says so by name."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager

# package: the extra, and what needs it
EXTRAS = {
    "confluent_kafka": ("kafka", "Streams of Kafka"),
    "fastapi": ("serve", "The service"),
    "httpx": ("client", "The client of a service"),
    "matplotlib": ("plot", "Pictures and reports"),
    "msgspec": ("serve", "The service"),
    "nats": ("nats", "Streams of NATS"),
    "paho": ("mqtt", "Topics of MQTT"),
    "onnx": ("onnx", "The ONNX graph of a model"),
    "pyarrow": (
        "arrow",
        "Tables, CSV, JSON lines, ARFF, Parquet, Arrow and .zst files",
    ),
    "ray": ("ray", "Training on several machines"),
    "redis": ("redis", "Streams of Redis"),
    "river": ("river", "Models and drift detectors of River"),
    "rich": ("cli", "The command line"),
    "typer": ("cli", "The command line"),
    "uvicorn": ("serve", "The service"),
}


class MissingExtra(ImportError):
    """A package is not installed; the message says which extra brings it."""

    def __init__(self, package: str):
        extra, what = EXTRAS[package]
        super().__init__(
            f"{what} need{'s' if what.startswith('The') else ''} {package}, which is not installed: "
            f"pip install 'kernelstream[{extra}]' brings it (in a clone: pip install '.[{extra}]').",
            name=package,
        )


def require(*packages: str) -> None:
    """MissingExtra for the first of them that is not installed."""
    for package in packages:
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package)


@contextmanager
def needing(package: str) -> Iterator[None]:
    """Imports inside that fail because a package is not installed say what brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != package:
            raise
        raise MissingExtra(package) from None
