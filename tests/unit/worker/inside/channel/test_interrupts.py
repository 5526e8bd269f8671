"""Where the handler of an interrupt raises, and where it waits."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from caps.worker.inside.channel.interrupts import Interrupts, interruptible

USER = "<user>"
GUARD = "a guard"


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    """Those of a cell that runs."""
    found, before = Interrupts(), sys.gettrace()
    found.recognise({USER}, GUARD)
    found.begin()
    yield found
    found.end()
    sys.settrace(before)


def user_function(source: str, **names: Any) -> Any:
    """The function `f` of user code."""
    exec(compile(source, USER, "exec"), names)
    return names["f"]


def ours(interrupts: Interrupts, result: str = "whole") -> Callable[[], str]:
    """A function of ours that is interrupted in the middle."""
    names: dict[str, Any] = {"__name__": "caps.ours", "interrupts": interrupts, "sys": sys}
    source = f"def f():\n    interrupts.on_signal(2, sys._getframe())\n    return {result!r}"
    exec(source, names)
    found: Callable[[], str] = names["f"]
    return found


def test_a_call_of_user_code_is_interrupted_at_once(interrupts: Interrupts) -> None:
    """The frame is its own, and the instruction is one that may take long."""
    signal = functools.partial(interrupts.on_signal, 2)
    f = user_function("def f():\n    signal(sys._getframe())", sys=sys, signal=signal)
    with pytest.raises(KeyboardInterrupt, match="the code was interrupted"):
        f()
    assert not interrupts.pending


def test_our_own_code_is_never_interrupted(interrupts: Interrupts) -> None:
    """It ends what it does, and the next line of user code raises; `finally` blocks run."""
    done: list[str] = []
    source = """
def f():
    try:
        done.append(ours())
        done.append("not reached")
    finally:
        done.append("finally")
"""
    with pytest.raises(KeyboardInterrupt):
        user_function(source, ours=ours(interrupts), done=done)()
    assert done == ["whole", "finally"]
    assert (interrupts.pending, sys.gettrace()) == (False, None)


def test_a_try_around_a_loop_on_one_line_sees_the_interrupt(interrupts: Interrupts) -> None:
    """Also if no other line comes before the loop begins again; a second interrupt is seen, too."""
    done: list[str] = []
    source = """
def f():
    for _ in range(2):
        try:
            while True: done.append(ours())
        except KeyboardInterrupt:
            done.append("seen")
        finally:
            done.append("finally")
"""
    user_function(source, ours=ours(interrupts), done=done)()
    assert done == ["whole", "seen", "finally"] * 2
    assert (interrupts.pending, sys.gettrace()) == (False, None)


def test_user_code_that_our_code_calls_next_is_interrupted(interrupts: Interrupts) -> None:
    """Also in a frame that did not exist when the signal came."""
    assert ours(interrupts)() == "whole"
    assert interrupts.pending
    with pytest.raises(KeyboardInterrupt):
        user_function("def f():\n    return 1")()


def test_a_wait_ends_and_the_interrupt_is_pending(interrupts: Interrupts) -> None:
    """Whether it comes before the wait or in it."""

    def poll(_timeout: int | None) -> bool:
        interrupts.on_signal(2, sys._getframe())
        raise AssertionError("the wait went on")

    assert not interrupts.wait(poll, None)
    assert interrupts.pending
    assert not interrupts.wait(lambda _: True, None)
    interrupts.take()
    assert interrupts.wait(lambda _: True, None)


def test_a_wait_that_fails_is_over(interrupts: Interrupts) -> None:
    """A signal after it is not taken for one within it."""

    def poll(_timeout: int | None) -> bool:
        raise MemoryError

    with pytest.raises(MemoryError):
        interrupts.wait(poll, None)
    assert ours(interrupts)() == "whole"


def test_nothing_happens_while_no_cell_runs(interrupts: Interrupts) -> None:
    """An interrupt that comes too late does not reach the next cell."""
    ours(interrupts)()
    interrupts.end()
    assert not interrupts.pending
    ours(interrupts)()
    interrupts.begin()
    assert not interrupts.pending
    assert user_function("def f():\n    return 1")() == 1


def test_a_marked_function_of_ours_is_interrupted(interrupts: Interrupts) -> None:
    """As `time.sleep` is, which would otherwise sleep on."""
    with pytest.raises(KeyboardInterrupt):
        interruptible(ours(interrupts, "of another function"))()


def test_a_library_that_our_code_uses_is_not_interrupted(interrupts: Interrupts) -> None:
    """Not even code with builtins of its own, as a named tuple has."""

    class Pair(NamedTuple):
        a: int
        b: int

    ours(interrupts)()
    assert Pair(1, 2) == (1, 2)
    assert interrupts.pending


def test_code_with_a_guard_is_user_code(interrupts: Interrupts) -> None:
    """All code that went through the language layer has them, whatever its file is called."""
    names: dict[str, Any] = {"__builtins__": {GUARD: None}}
    exec("def f():\n    return 1", names)
    ours(interrupts)()
    with pytest.raises(KeyboardInterrupt):
        names["f"]()
