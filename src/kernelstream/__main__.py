"""``python -m kernelstream`` is the console command.

Ctrl-C is a KeyboardInterrupt for Python: inside an import that is a traceback, or nothing. So it ends the process until
a command is at work, which handles it; what this module imports comes before that.
"""

import gc
import os
import signal
import sys

_INTERRUPTED = 130


def main() -> None:
    """The console entry."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from .extras import MissingExtra, require

    try:
        require("typer", "rich")
    except MissingExtra as error:
        sys.exit(f"kernelstream: {error}")
    # What is imported stays: looking through it for what could be thrown away is a tenth of the time that it takes.
    gc.disable()
    from .cli import app_for

    app = app_for(sys.argv[1:])
    gc.freeze()
    gc.enable()
    try:
        app()
    finally:
        gc.unfreeze()  # when Python ends, what is frozen would go in any order


def _leave(number: int, frame: object) -> None:
    """End at once, where nothing has begun or everything is done."""
    os.write(2, b"kernelstream: interrupted\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
