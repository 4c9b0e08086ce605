#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox>=2025.2.9"]
# ///
"""Checks, and the tests on every Python that is supported: `nox`, `nox -s tests-3.13 -- tests/test_rows.py`."""

import nox

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"


@nox.session
def lint(session: nox.Session) -> None:
    """Style and types."""
    session.install("-e", ".[dev]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """All tests, or those named behind --."""
    session.install("-e", ".[dev]")
    session.run("pytest", *(session.posargs or ["-n", "auto", "--dist", "worksteal"]))


if __name__ == "__main__":
    nox.main()
