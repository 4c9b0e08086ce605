"""A service in steady use holds what it held; the slice of `make soak-serve` that a test can take."""

import numpy as np
import pytest
from benchmarks.serve_steady import MEGABYTE, Look, compared, steady

pytest.importorskip("fastapi", reason="pip install 'kernelstream[serve]' brings it")

BOUNDS = np.linspace(10.0, 100.0, 4)
LOOKS = [Look(float(at), 100 * MEGABYTE, 10 * MEGABYTE, 20, 9) for at in range(0, 101, 5)]
TIMES = [(0.1 * i, "learn", 5.0) for i in range(1000)]


def test_some_seconds_of_use_leave_every_row_learned_once(tmp_path):
    done, faults = steady(tmp_path, minutes=0.05, seconds_a_look=0.5)
    assert not [fault for fault in faults if "p50" not in fault and "p99" not in fault], "a busy machine may be slow"
    assert " requests in 0.05 minutes, resident " in done


def test_what_stays_as_it_is_is_no_fault():
    assert compared(LOOKS, TIMES, BOUNDS)[1] == []


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"resident": 120 * MEGABYTE}, "resident grew"),
        ({"stored": 50 * MEGABYTE}, "stored grew"),
        ({"files": 30}, "files grew"),
        ({"threads": 12}, "threads grew"),
    ],
)
def test_what_grows_is_found(changed, word):
    looks = [one._replace(**changed) if one.at > 80 else one for one in LOOKS]
    (fault,) = compared(looks, TIMES, BOUNDS)[1]
    assert fault.startswith(word)


def test_answers_that_come_later_are_found():
    slower = [(at, kind, 9.0 if at > 70 else ms) for at, kind, ms in TIMES]
    assert [fault[:3] for fault in compared(LOOKS, slower, BOUNDS)[1]] == ["p50"]
    rarely = [(at, kind, 50.0 if at > 70 and i % 20 == 0 else ms) for i, (at, kind, ms) in enumerate(TIMES)]
    assert [fault[:3] for fault in compared(LOOKS, rarely, BOUNDS)[1]] == ["p99"]
