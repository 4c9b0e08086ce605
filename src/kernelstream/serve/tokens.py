"""Tokens: who may do what. A token is shown once, when it is made; the store knows its hash alone."""

import hashlib
import re
import secrets
import sqlite3
import time
from pathlib import Path

from .store import FILE, connected

SCOPES = ("predict", "learn", "admin")  # each may what those before it may
_PREFIX = "ks_"
_MOST_LETTERS = 100
_OPEN = re.compile(r"(/v2|/v2/health/\w+|/docs|/docs/files/.*|/openapi\.json|/page/.*|)/?")  # to read, for everybody
_OF_ROWS = re.compile(r"/v2/models/[^/]+(?:/versions/[^/]+)?/(predict|infer|learn|labels)/?")


def needed(method: str, path: str) -> str | None:
    """The scope that a request takes, of whatever is served; None where nobody need say who they are."""
    if method in ("GET", "HEAD"):
        return None if _OPEN.fullmatch(path) else "predict"
    asked = _OF_ROWS.fullmatch(path) if method == "POST" else None
    return "admin" if asked is None else "predict" if asked[1] in ("predict", "infer") else "learn"


def hashed(token: str) -> str:
    """Tokens are 256 random bits, so that a plain hash of one cannot be searched."""
    return hashlib.sha256(token.encode()).hexdigest()


def allows(scope: str, needed: str) -> bool:
    return SCOPES.index(scope) >= SCOPES.index(needed)


def make_token(folder: Path, name: str, scope: str) -> str:
    """A new token; ValueError where one has this name."""
    if not (0 < len(name) <= _MOST_LETTERS and name.isprintable()):
        raise ValueError(f"A token's name has 1 to {_MOST_LETTERS} letters; {name!r:.120} has not.")
    if scope not in SCOPES:
        raise ValueError(f"scope={scope!r} must be one of {', '.join(SCOPES)}.")
    token = _PREFIX + secrets.token_urlsafe(32)
    folder.mkdir(parents=True, exist_ok=True)
    connection = connected(folder / FILE)
    try:
        connection.execute("INSERT INTO tokens VALUES (?, ?, ?, ?)", (name, hashed(token), scope, time.time()))
    except sqlite3.IntegrityError:
        raise ValueError(f"There is a token {name!r}; revoke it first, or choose another name.") from None
    finally:
        connection.close()
    return token


def listed(folder: Path) -> list[tuple[str, str, float]]:
    """(name, scope, when it was made) of each token."""
    with _opened(folder) as connection:
        return connection.execute("SELECT name, scope, made FROM tokens ORDER BY made").fetchall()


def revoke(folder: Path, name: str) -> None:
    with _opened(folder) as connection:
        if connection.execute("DELETE FROM tokens WHERE name=?", (name,)).rowcount == 0:
            raise ValueError(f"There is no token {name!r}; `kernelstream token list` shows those there are.")


def _opened(folder: Path) -> sqlite3.Connection:
    if not (folder / FILE).exists():
        raise ValueError(f"There is no store in {folder}; `kernelstream serve --store {folder}` makes one.")
    return connected(folder / FILE)
