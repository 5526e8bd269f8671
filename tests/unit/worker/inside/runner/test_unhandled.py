"""(4) What would be lost silently is reported, with the user's lines and within bounds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from caps.worker.inside.language.compiler import Program, compile_source
from caps.worker.inside.runner.unhandled import UnhandledErrors
from support.language_programs import run_program


class Reported:
    """A program, and what is reported about it."""

    def __init__(self, source: str) -> None:
        self.lines: list[str] = []
        self.program: Program = compile_source(source)
        self.complaints = UnhandledErrors(self.lines.append, {self.program.filename: self.program})

    @property
    def text(self) -> str:
        return "".join(self.lines)


@pytest.fixture
def reported(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reported]:
    """The program in the parameter, about to run; the interpreter's own hook is put back."""
    made = Reported(request.param)
    hook = "_warn_unawaited_coroutine"
    monkeypatch.setattr(warnings, hook, getattr(warnings, hook))
    made.complaints.install()
    yield made
    made.program = None  # type: ignore[assignment]


@pytest.mark.parametrize("reported", ["async def f():\n    pass\n\nf()\n1\n"], indirect=True)
def test_a_coroutine_that_is_dropped_is_reported_with_its_line(reported: Reported) -> None:
    """As Python tells it."""
    run_program(reported.program)
    assert reported.text == "<agent>:4: RuntimeWarning: coroutine 'f' was never awaited\n  f()\n"


@pytest.mark.parametrize("reported", ["import asyncio\nasyncio.sleep(1)\n1\n"], indirect=True)
def test_a_coroutine_of_ours_has_the_name_that_the_user_called(reported: Reported) -> None:
    """Nothing of our own files is shown."""
    run_program(reported.program)
    expected = "<agent>:2: RuntimeWarning: coroutine 'asyncio.sleep' was never awaited\n"
    assert reported.text == f"{expected}  asyncio.sleep(1)\n"


@pytest.mark.parametrize(
    "reported", ["async def f(): pass\nfor _ in range(9): f()\n1\n"], indirect=True
)
def test_the_same_place_is_reported_once(reported: Reported) -> None:
    """A loop does not flood the output."""
    run_program(reported.program)
    assert len(reported.lines) == 1


_MANY = "async def f(): pass\n" + "f()\n" * 30 + "1\n"


@pytest.mark.parametrize("reported", [_MANY], indirect=True)
def test_only_some_are_reported(reported: Reported) -> None:
    """And then that there are more."""
    run_program(reported.program)
    reported.complaints.close()
    assert len(reported.lines) == 21
    assert reported.lines[-1] == "(there are more such errors and warnings; they are not shown)\n"


@pytest.mark.parametrize(
    "reported",
    ["async def f(): pass\nasync def g(): pass\none = f()\nmore = [g(), g()]\n(one, more)\n"],
    indirect=True,
)
def test_what_the_program_holds_at_its_end_is_reported_with_its_definition(
    reported: Reported,
) -> None:
    """By itself or in a list; afterwards it is closed."""
    one, more = run_program(reported.program).value
    reported.complaints.report_held([one, more, 5, "text"])
    assert reported.text == (
        "<agent>:1: RuntimeWarning: coroutine 'f' was never awaited\n  async def f(): pass\n"
        "<agent>:2: RuntimeWarning: coroutine 'g' was never awaited\n  async def g(): pass\n"
    )
    del one, more
    reported.complaints.report_held([])
    assert len(reported.lines) == 2


def test_an_error_is_reported_with_the_users_frames_alone() -> None:
    """What it was, and where."""
    made = Reported("def f():\n    return 1 / 0\nf()\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run_program(made.program)
    made.complaints.report_error("Task 't' exception was never retrieved", caught.value)
    assert made.text == (
        "Task 't' exception was never retrieved\n"
        "Traceback (most recent call last):\n"
        '  File "<agent>", line 3, in <module>\n    f()\n'
        '  File "<agent>", line 2, in f\n    return 1 / 0\n           ^^^^^\n'
        "ZeroDivisionError: division by zero\n"
    )


def test_a_huge_error_is_cut() -> None:
    """One error cannot fill the output."""
    made = Reported("1")
    for _ in range(100):
        made.complaints.report_error("n" * 10_000, ValueError("x" * 1_000_000))
    assert len(made.text) < 20 * 10_000
