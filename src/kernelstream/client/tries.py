"""Tries: when a request is sent again, how long is waited before, and what is said when it is given up."""

import random
import time

from ..extras import needing

with needing("httpx"):
    import httpx

_AGAIN = (429, 503, 507)  # nothing has happened, and may soon
_BETWEEN = (502, 504)  # of a proxy; something may have happened
_FIRST, _LONGEST = 0.1, 5.0  # seconds to wait before another try
_MOST_PATIENCE = 60.0  # seconds that a service may ask to wait


class ServiceError(Exception):
    """What a service refuses, or that it does not answer.

    Parameters
    ----------
    message : the service's own words, where it has any
    status : of the answer, None without one
    key : under which the call can be made again without learning a row twice, None for calls that learn nothing

    Examples
    --------
    >>> from kernelstream.client import Client, ServiceError
    >>> with Client("http://127.0.0.1:8000") as client:
    ...     try:
    ...         client.model("nobody").describe()
    ...     except ServiceError as error:
    ...         status = error.status
    >>> status
    404
    """

    def __init__(self, message: str, status: int | None = None, key: str | None = None):
        super().__init__(message)
        self.status, self.key = status, key


class Tries:
    """What one request has met with so far."""

    def __init__(self, url: str, retries: int, *, repeat: bool):
        """repeat: it can be sent again where it is not known whether it was carried out."""
        self._url, self._left, self._repeat = url, retries, repeat
        self._made, self._began = 0, time.monotonic()

    def unanswered(self, error: httpx.TransportError) -> None:
        """Wait, or ServiceError."""
        words = str(error) or type(error).__name__
        never_sent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        wrong = isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError)
        if wrong or "certificate" in words.lower():
            raise ServiceError(f"{self._url} cannot be asked: {words}.") from error
        if not (self._repeat or never_sent):
            raise ServiceError(f"{self._url} did not answer ({words}): look whether it has done this.") from error
        self._wait(f"{self._url} does not answer ({words}){self._so_far()}; is the service running there?", None, None)

    def refused(self, answer: httpx.Response) -> None:
        """Wait where another try may go better, or ServiceError with the service's words."""
        words, status = _words(answer), answer.status_code
        if status not in _AGAIN and not (status in _BETWEEN and self._repeat):
            raise ServiceError(words, status)
        self._wait(f"{words} ({status}){self._so_far()}", status, answer.headers.get("Retry-After"))

    def _so_far(self) -> str:
        if self._made == 0:
            return ""
        return f", after {self._made + 1} tries in {time.monotonic() - self._began:.1f} s"

    def _wait(self, words: str, status: int | None, asked: str | None) -> None:
        if self._left == 0:
            raise ServiceError(words, status)
        wait = min(_LONGEST, _FIRST * 2.0**self._made) * random.uniform(0.5, 1.0)
        if asked is not None and asked.isdecimal():
            wait = min(_MOST_PATIENCE, float(asked)) * random.uniform(1.0, 1.1)
        self._left, self._made = self._left - 1, self._made + 1
        time.sleep(wait)


def _words(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        return f"{answer.request.url} answers with {answer.status_code}: {answer.text[:200]!r}"
