"""Compiling next to code that has run before: no error of the compiler itself comes through."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from caps.worker.inside.language import compiler
from caps.worker.inside.language.compiler import SourceError, compile_source
from support.language_programs import run

LEAVE_GENERATORS = """
def evaluate():
    try:
        yield
    finally:
        eval("1 + 1")

for _ in range(3):
    generator = evaluate()
    next(generator)
    ring = [generator]
    ring.append(ring)
del generator, ring
"""
LONG = "\n".join(f"x{number} = [({number}, [a, b(c, d[e])])]" for number in range(300))


@pytest.fixture
def collector() -> Iterator[None]:
    """The garbage collector is as before after the test."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.enable()


@pytest.mark.usefixtures("collector")
def test_garbage_that_evaluates_is_not_collected_while_source_compiles() -> None:
    """Python 3.11 fails if the `finally` of a generator compiles in the middle of it."""
    for threshold in range(200, 3000, 700):
        gc.disable()
        run(LEAVE_GENERATORS)
        gc.set_threshold(threshold, 1000, 1000)
        gc.enable()
        assert compile_source(LONG).code.co_name == "<module>"
        assert gc.isenabled()


@pytest.mark.usefixtures("collector")
def test_a_collector_that_is_off_stays_off() -> None:
    """Compiling changes nothing for what runs next."""
    gc.disable()
    compile_source("1")
    assert not gc.isenabled()


def test_an_error_inside_the_compiler_is_an_error_of_the_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The worker continues, and reports what happened."""

    def fail(*_args: Any, **_options: Any) -> None:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(compiler, "compile", fail, raising=False)
    with pytest.raises(SourceError, match="cannot be compiled: AST constructor recursion"):
        compile_source("1")
