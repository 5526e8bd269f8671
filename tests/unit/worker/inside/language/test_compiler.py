"""Compiling next to code that has run before: no error of the compiler itself comes through."""

from __future__ import annotations

import ast
import dis
import gc
import re
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from caps.worker.inside.errors.report import describe
from caps.worker.inside.language import compiler
from caps.worker.inside.language.compiler import SourceError, compile_source, pack, unpack
from support.language_programs import run, run_program

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
def test_the_collector_finds_no_syntax_tree() -> None:
    """When it runs again the tree is gone: to go through it would take longer than to free it."""
    found: list[Any] = []

    def look(_phase: str, _info: dict[str, int]) -> None:
        found.append([one for one in gc.get_objects(generation=0) if isinstance(one, ast.AST)])

    gc.collect()
    gc.callbacks.append(look)
    try:
        compile_source(LONG)
        gc.collect()
    finally:
        gc.callbacks.remove(look)
    assert found[:1] == [[]]


@pytest.mark.parametrize(
    "source", ["", "a", "a\n", "a\n\nb", "a\r\nb", "a\rb\nc\r\n", "'a\x0b\x0c\u2028b'\nc"]
)
def test_the_lines_of_a_program_are_those_that_python_counts(source: str) -> None:
    """Only three line endings count, whichever a source has."""
    lines = tuple(re.split("\r\n|\r|\n", source))
    program = compile_source(source)
    assert program.lines == lines
    assert unpack(pack(program), source, "<agent>", restricted=True).lines == lines


@pytest.mark.usefixtures("collector")
def test_a_collector_that_is_off_stays_off() -> None:
    """Compiling changes nothing for what runs next."""
    gc.disable()
    compile_source("1")
    assert not gc.isenabled()


@pytest.mark.parametrize("source", ["x = 1 is 1\n", 'x = "\\d"\n', "1 is 1 (", "x.__globals__"])
def test_the_compiler_does_not_warn_and_leaves_the_filters_as_they_were(source: str) -> None:
    """Whether or not it compiles; the code's own warnings follow the code's own filters."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        filters, before = warnings.filters, list(warnings.filters)
        with suppress(SourceError):
            compile_source(source)
        assert warnings.filters is filters
        assert list(filters) == before
    assert found == []


def test_an_error_inside_the_compiler_is_an_error_of_the_source(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The worker continues, and reports what happened."""

    def fail(*_args: Any, **_options: Any) -> None:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(compiler, "compile", fail, raising=False)
    with pytest.raises(SourceError, match="cannot be compiled: AST constructor recursion"):
        compile_source("1")


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("return 5", 5),
        ("return", None),
        ("return 1\n2", 1),
        ("if False:\n    return 1\n2", 2),
        ("for i in range(9):\n    if i == 4:\n        return i", 4),
        (
            "while True:\n    try:\n        return 1\n    finally:\n        break\n'broken'",
            "broken",
        ),
        (
            "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    return str(error)[:8]",
            "division",
        ),
        ("match [1, 2]:\n    case [a, *rest]:\n        return rest", [2]),
        ("return *[1, 2], 3", (1, 2, 3)),
        ("x: int = 3\ny: str\nglobal z\nz = 1\nreturn x + z", 4),
        ("from __future__ import annotations\ndef f(a: Nowhere): return a\nreturn f(2)", 2),
        ("[y := i for i in range(3)]\ndef g(): return y\nreturn g()", 2),
        ("import asyncio\nreturn await asyncio.sleep(0, 'slept')", "slept"),
        ("async def g():\n    yield 1\nreturn [i async for i in g()]", [1]),
        ("exec('b = 7')\nreturn b + eval('b') + globals()['b'] + locals()['b']", 28),
        ("f = lambda: 1\nreturn f.__qualname__, [lambda: 2][0].__name__", ("<lambda>", "<lambda>")),
        ("def f():\n    def g(): pass\n    return g\nreturn f().__qualname__", "f.<locals>.g"),
        ("x = 1\ndef up():\n    global x\n    x += 1\nup()\nreturn x", 2),
    ],
)
def test_a_program_may_return(source: str, value: object) -> None:
    """At its top level, as in a function; otherwise the last expression is the result."""
    assert run(source).value == value


def test_a_program_that_returns_runs_its_clean_up() -> None:
    """A context is left without an error, and a `finally` runs."""
    source = """
class Place:
    def __enter__(self): pass
    def __exit__(self, *error): print(error)
with Place():
    try:
        return "value"
    finally:
        print("finally")
print("not reached")
"""
    ran = run(source)
    assert (ran.value, ran.printed) == ("value", "finally\n(None, None, None)\n")


def test_the_names_of_a_program_that_returns_are_global() -> None:
    """So that a later cell has them, and that they are read as fast as in a module."""
    source = "\n".join(
        (
            "import math as m",
            "from math import pi",
            "a = b = 1",
            "(c, *d), e = (1, 2), 3",
            "for f in []: pass",
            "class G: h = 1",
            "def i(j): return j",
            "if (k := 1): a += k",
            "try: pass\nexcept ValueError as n: pass",
            "import contextlib\nwith contextlib.nullcontext(1) as o: pass",
            "return [p for p in range(a)]",
        )
    )
    code = compile_source(source).code
    stored = {one.argval for one in dis.get_instructions(code) if one.opname == "STORE_GLOBAL"}
    assert stored >= {"m", "pi", "a", "b", "c", "d", "e", "f", "G", "i", "k", "n", "o"}
    assert not code.co_cellvars
    assert set(code.co_varnames) <= {"p"}  # of a comprehension that is part of the code
    assert "LOAD_NAME" not in {one.opname for one in dis.get_instructions(code)}


@pytest.mark.parametrize("line", ["1 / 0", "missing", "f()"])
def test_an_error_of_a_program_that_returns_has_its_line(line: str) -> None:
    """And the frame of the program has the name that it always has."""
    program = compile_source(f"def f():\n    1 / 0\n\nif True:\n    {line}\nreturn 1")
    with pytest.raises((ZeroDivisionError, NameError)) as caught:
        run_program(program)
    report = describe(caught.value, {program.filename: program})
    assert (report.frames[0].line, report.frames[0].function) == (5, "<module>")
    assert [frame.function for frame in report.frames].count("<module>") == 1


def test_a_program_that_returns_can_be_packed() -> None:
    """The cache of compiled programs has it like any other."""
    source = "x = 1\nreturn x + 1"
    packed = pack(compile_source(source))
    program = unpack(packed, source, "<agent>", restricted=True)
    assert (program.returns, run_program(program).value) == (True, 2)


def test_a_warning_of_the_compiler_is_neither_shown_nor_an_error() -> None:
    """Whatever the filters are; and they are the same afterwards."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before, filters = warnings.filters, list(warnings.filters)
        assert run_program(compile_source('text = "\\d"\ntext is 5')).value is False
        assert warnings.filters is before
        assert warnings.filters == filters
        with pytest.raises(SourceError):
            compile_source('text = "\\d')
        assert warnings.filters is before
