"""Long work for a row to come: the same result by a helper, by steps, and begun only when the row comes."""

import threading
import time

import pytest

from kernelstream.engine.ahead import Ahead
from kernelstream.engine.runner import new_runner


def counted(log, n=5):
    """Work of n steps."""
    for i in range(n):
        yield
        log.append((i, threading.current_thread()))
    return n


@pytest.mark.parametrize("beside", [True, False])
def test_what_was_begun_is_finished(beside):
    log, ahead = [], Ahead(new_runner, beside=beside)
    ahead.begin(counted(log))
    ahead.go_on(2)
    assert ahead.result(lambda: pytest.fail("it was begun")) == 5
    assert [i for i, _ in log] == [0, 1, 2, 3, 4]


def test_steps_are_taken_one_after_the_other_and_none_after_the_last():
    log, ahead = [], Ahead(new_runner, beside=False)
    ahead.begin(counted(log))
    for n, done in ((1, 0), (2, 2), (9, 5), (9, 5)):
        ahead.go_on(n)
        assert len(log) == done
    assert ahead.result(lambda: pytest.fail("it was begun")) == 5


@pytest.mark.parametrize("beside", [True, False])
def test_what_was_not_begun_is_done_when_it_is_needed(beside):
    log, ahead = [], Ahead(new_runner, beside=beside)
    ahead.go_on(3)
    assert ahead.result(lambda: counted(log)) == 5
    assert all(thread is threading.current_thread() for _, thread in log)


@pytest.mark.parametrize("beside", [True, False])
def test_what_fails_is_told_where_it_is_needed_and_can_be_done_again(beside):
    def failing():
        yield
        raise MemoryError

    ahead = Ahead(new_runner, beside=beside)
    ahead.begin(failing())
    with pytest.raises(MemoryError):
        ahead.result(lambda: counted([]))
    assert ahead.result(lambda: counted([])) == 5


def test_what_failed_between_two_rows_is_begun_anew_when_it_is_needed():
    def failing():
        yield
        raise MemoryError

    ahead = Ahead(new_runner, beside=False)
    ahead.begin(failing())
    with pytest.raises(MemoryError):
        ahead.go_on(2)
    ahead.go_on(1)
    assert ahead.result(lambda: counted([])) == 5


def test_what_has_few_steps_takes_no_time_of_its_own():
    began = time.process_time()
    for _ in range(50):
        assert Ahead(new_runner, beside=False).result(lambda: counted([])) == 5
    assert time.process_time() - began < 1.0
