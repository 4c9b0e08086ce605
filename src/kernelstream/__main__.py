"""``python -m kernelstream`` is the console command."""

import sys

from .extras import MissingExtra, require


def main() -> None:
    """The console entry."""
    try:
        require("typer", "rich")
    except MissingExtra as error:
        sys.exit(f"kernelstream: {error}")
    from .cli import app

    app()


if __name__ == "__main__":
    main()
