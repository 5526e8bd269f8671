"""Provider threads that compute take turns."""

from __future__ import annotations

import threading

import pytest

from caps.capabilities import threads
from caps.capabilities.threads import in_turns


def test_every_item_comes_in_its_order() -> None:
    """Of any number of them."""
    assert list(in_turns(range(1000))) == list(range(1000))
    assert list(in_turns([])) == []


def test_one_thread_at_a_time_is_between_two_items() -> None:
    """So that the event loop competes with one, however many there are."""
    inside, most = 0, 0

    def compute() -> None:
        nonlocal inside, most
        for _ in in_turns(range(2000)):
            inside += 1
            most = max(most, inside)
            inside -= 1

    running = [threading.Thread(target=compute) for _ in range(8)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert most == 1


def test_a_loop_that_is_left_early_ends_its_turn() -> None:
    """Also by an error."""
    for _ in in_turns(range(10)):
        break
    assert not threads._turn.locked()
    with pytest.raises(OSError, match="gone"):
        for _ in in_turns(range(10)):
            raise OSError("gone")
    assert not threads._turn.locked()


def test_a_thread_with_slow_items_gives_the_others_their_turn() -> None:
    """After each of them: they belong to other callers."""
    began, ended = threading.Event(), threading.Event()
    slow = 0

    def compute() -> None:
        nonlocal slow
        for _ in in_turns(range(300)):
            began.set()
            if ended.wait(0.02):
                break
            slow += 1

    thread = threading.Thread(target=compute)
    thread.start()
    began.wait()
    assert list(in_turns(range(3))) == [0, 1, 2]
    ended.set()
    thread.join()
    assert slow < 50


def test_no_item_is_taken_before_it_is_wanted() -> None:
    """Each may be a line of many megabytes."""
    items = iter(range(9))
    turns = in_turns(items)
    assert next(turns) == 0
    turns.close()
    assert next(items) == 1
