"""Settings of a service: where it listens, what it takes, how long it keeps things; from TOML and from options."""

import dataclasses
import ipaddress
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from ..parameters import did_you_mean

LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What `kernelstream serve` can be told; times are seconds."""

    store: str = "store"
    host: str = "127.0.0.1"
    port: int = 8000
    tls_certificate: str | None = None
    tls_key: str | None = None
    most_body: int = 32 * 2**20  # bytes of a request
    most_bodies: int = 256 * 2**20  # bytes of all requests that are being answered
    most_rows: int = 100_000  # of a request
    most_features: int = 50_000  # of a model: names, words, places of a list
    most_model_bytes: int = 2**30  # of memory
    most_models: int = 100
    most_requests: int = 256  # at the same time
    most_queued: int = 200_000  # rows that wait to be learned, of a model
    most_streams: int = 32  # pages that watch
    waiting_rows: int = 100_000  # that wait for their labels, of a model
    waiting_seconds: float = 30 * 86_400.0
    keys_seconds: float = 86_400.0  # answers to requests with an Idempotency-Key
    publish_seconds: float = 0.1  # between states of a model that predictions see
    snapshot_seconds: float = 300.0  # between model files
    snapshot_bytes: int = 64 * 2**20  # of the log, after which a model file is written
    read_seconds: float = 20.0  # for a client to send a request, or to take its answer
    stop_seconds: float = 10.0  # for requests to end when the service is stopped
    log_level: str = "info"
    log_share: float = 1.0  # of the requests that went well

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name == "log_share":
                if not 0.0 <= value <= 1.0:
                    raise ValueError(f"log_share={value!r} must be between 0 and 1.")
            elif field.name == "port":
                if not 0 <= value <= 65_535:
                    raise ValueError(f"port={value!r} must be between 0 (any that is free) and 65535.")
            elif isinstance(value, int | float) and not value > 0:
                raise ValueError(f"{field.name}={value!r} must be greater than 0.")
        if self.most_bodies < self.most_body:
            raise ValueError(
                f"most_bodies={self.most_bodies} must be at least most_body={self.most_body}: raise it, or lower that."
            )
        if self.log_level not in LEVELS:
            raise ValueError(f"log_level={self.log_level!r} must be one of {', '.join(LEVELS)}.")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("tls_certificate and tls_key go together: give both files, or none.")
        for name in ("tls_certificate", "tls_key"):
            if getattr(self, name) is not None and not Path(getattr(self, name)).is_file():
                raise ValueError(f"{name}={getattr(self, name)!r} is no file.")

    @cached_property
    def is_local(self) -> bool:
        """Whether only this machine reaches the service."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @classmethod
    def read(cls, path: str | Path | None, **given: Any) -> Self:
        """The settings of a TOML file, with those that are given instead of its own."""
        found: dict[str, Any] = {}
        if path is not None:
            try:
                found = tomllib.loads(Path(path).read_text())
            except (tomllib.TOMLDecodeError, UnicodeError) as error:
                raise ValueError(f"{path} is not TOML: {error}.") from None
        fields = {field.name: field for field in dataclasses.fields(cls)}
        for name, value in found.items():
            if name not in fields:
                raise ValueError(f"{path} has {name!r}; {did_you_mean(name, fields)} one of {', '.join(fields)}.")
            kind = type(fields[name].default)
            fits = isinstance(value, str) if kind in (str, type(None)) else isinstance(value, int | float)
            if not fits or isinstance(value, bool) or (kind is int and not isinstance(value, int)):
                wanted = {int: "a whole number", float: "a number"}.get(kind, "text, in quotes")
                raise ValueError(f"{path}: {name}={value!r} must be {wanted}.")
        return cls(**found | given)
