"""How much faster one thing is than another, on a machine that does other things too."""

import time


def times_as_fast(ours, theirs, wanted, *, turns=12):
    """Their shortest time over ours, taken in turns until it is as wanted: what else the machine does only adds to
    either, so that more turns bring both nearer to what they are.
    """
    shortest = {ours: float("inf"), theirs: float("inf")}
    for _ in range(turns):
        for call in (theirs, ours, ours, ours):
            start = time.perf_counter()
            call()
            shortest[call] = min(shortest[call], time.perf_counter() - start)
        if shortest[theirs] >= wanted * shortest[ours]:
            break
    return shortest[theirs] / shortest[ours]
