"""``python -m kernelstream`` is the console command.

Ctrl-C is a KeyboardInterrupt for Python: inside an import that is a traceback, or nothing. So it ends the process until
a command is at work, which handles it; what this module imports comes before that.
"""

import gc
import os
import signal
import sys

_BAD_INPUT, _INTERRUPTED = 2, 130


def main() -> None:
    """The console entry, which ends the process."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from .extras import MissingExtra, require

    try:
        require("typer", "rich")
    except MissingExtra as error:
        sys.exit(f"kernelstream: {error}")
    # What is imported stays: looking through it for what could be thrown away is a tenth of the time that it takes.
    gc.disable()
    from .cli import app, import_for

    import_for(sys.argv[1:])
    gc.freeze()
    gc.enable()
    try:
        app()
    except OSError as error:  # of help and lists, behind which no command stands
        from .cli.wording import reason

        sys.stderr.write(f"kernelstream: {reason(error)}\n")
        _end(_BAD_INPUT)
        os._exit(_BAD_INPUT)
    except SystemExit as done:
        if done.code is None or isinstance(done.code, int):
            _end(done.code or 0)
        raise
    finally:
        gc.unfreeze()  # when Python ends, what is frozen would go in any order


def _end(code: int) -> None:
    """End the process as Python does, but for taking apart all that was imported: a sixth of the command's time.

    Where what was written does not reach its reader, it returns, and Python says so.
    """
    import atexit
    import threading

    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        return
    os._exit(code)


def _leave(number: int, frame: object) -> None:
    """End at once, where nothing has begun or everything is done."""
    os.write(2, b"kernelstream: interrupted\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
