"""``kernelstream warm``: learners are compiled for this very processor, ahead of their use."""

import time
from typing import Annotated

import typer
from rich.console import Console

from ..algorithms import ALGORITHMS, as_algorithm
from ..learner import DTYPES
from ..numerics.compile import INTERPRETED, SHELVES
from ..sources.base import one_of
from .looking import say

_BOTH = "both"


def warm(
    algorithms: Annotated[
        list[str] | None, typer.Argument(metavar="[ALGORITHM]...", help="Which learners; all, if none is named.")
    ] = None,
    dtype: Annotated[str, typer.Option(metavar=f"{'|'.join(DTYPES)}|{_BOTH}", help="Precisions to compile.")] = _BOTH,
) -> None:
    """Compile learners for this very processor, once for all later runs.

    A wheel brings code for a level of processors, so that nothing needs to be compiled. What is compiled here is a
    little faster, and differs from it in the last bits of results: from the end of this command on, this machine uses
    it for all learners, until its compile cache is removed. All of them take some ten minutes.
    """
    names = [as_algorithm(name).name for name in algorithms or ALGORITHMS]
    dtypes = list(DTYPES) if one_of(dtype, (*DTYPES, _BOTH), "dtype") == _BOTH else [dtype]
    if INTERPRETED:
        raise ValueError("NUMBA_DISABLE_JIT=1 runs all code interpreted; unset it to compile.")
    from .exercises import exercises

    console = Console(stderr=True)
    start, before, failed = time.perf_counter(), "", ""
    with SHELVES.natively():
        for words, piece in exercises(names, dtypes, around=not algorithms):
            if words != before:
                say(console, f"{time.perf_counter() - start:6.1f} s  {words}")
                before = words
            try:
                piece()
            except ValueError as error:  # what else there is can be compiled all the same
                failed = failed or f"{words}: {error}"
    if failed:
        raise ValueError(f"not all was compiled, which happens when it is used. {failed}")
    say(console, f"{time.perf_counter() - start:6.1f} s  compiled, in {SHELVES.own}")
