"""What cannot run is refused before anything runs, with its place and what is wrong."""

from __future__ import annotations

from textwrap import dedent

import pytest

from caps.protocol.messages import MAX_SOURCE_BYTES
from caps.worker.inside.language.compiler import SourceError, compile_source
from support.language_programs import run

# source, line, column, message
REFUSED = [
    ("x = 1\ny = x.__code__", 2, 4, "`__code__` reaches into the interpreter"),
    ("  \nprint(__builtins__)", 2, 6, "`__builtins__` reaches into the interpreter"),
    ("f.gi_frame", 1, 0, "`gi_frame` reaches into the interpreter"),
    ("x.tb_next", 1, 0, "`tb_next` reaches into the interpreter"),
    ("x.f_locals", 1, 0, "`f_locals` reaches into the interpreter"),
    ("x.co_consts", 1, 0, "`co_consts` reaches into the interpreter"),
    ("x.cr_await", 1, 0, "`cr_await` reaches into the interpreter"),
    ("x.ag_running", 1, 0, "`ag_running` reaches into the interpreter"),
    ("def __getattr__(n): pass", 1, 0, "`__getattr__` reaches into the interpreter"),
    ("def __reduce__(): pass", 1, 0, "`__reduce__` reaches into the interpreter"),
    ("__len__ = 1", 1, 0, "`__len__` reaches into the interpreter"),
    ("class C:\n    def __del__(self): pass", 2, 4, "`__del__` reaches into the interpreter"),
    ("class __C__: pass", 1, 0, "`__C__` reaches into the interpreter"),
    ("def f(__x__): pass", 1, 6, "`__x__` reaches into the interpreter"),
    ("lambda *__x__: 0", 1, 8, "`__x__` reaches into the interpreter"),
    ("f(__x__=1)", 1, 2, "`__x__` reaches into the interpreter"),
    ("def f():\n    global __x__", 2, 4, "`__x__` reaches into the interpreter"),
    ("import __main__", 1, 0, "`__main__` reaches into the interpreter"),
    ("import math as __m__", 1, 0, "`__m__` reaches into the interpreter"),
    ("from __main__ import x", 1, 0, "`__main__` reaches into the interpreter"),
    ("from math import *", 1, 0, "name what you import; `*` is not supported"),
    ("from . import x", 1, 0, "there is no package to import from"),
    ("__slots__ = ()", 1, 0, "`__slots__` reaches into the interpreter"),
    ("__name__ = 'x'", 1, 0, "`__name__` reaches into the interpreter"),
    ("del __name__", 1, 4, "`__name__` reaches into the interpreter"),
    ("try: pass\nexcept E as __e__: pass", 2, 0, "`__e__` reaches into the interpreter"),
    ("match x:\n    case {**__r__}: pass", 2, 9, "`__r__` reaches into the interpreter"),
    ("match x:\n    case [*__r__]: pass", 2, 10, "`__r__` reaches into the interpreter"),
    ("match x:\n    case P(_a=1): pass", 2, 9, "a pattern cannot read the attribute `_a`"),
    ("x.__len__()[0].__code__", 1, 0, "`__code__` reaches into the interpreter"),
    ("x().__reduce__()", 1, 0, "`__reduce__` reaches into the interpreter"),
    ("e.__class__ = None", 1, 0, "`__class__` reaches into the interpreter"),
]


@pytest.mark.parametrize(("source", "line", "column", "message"), REFUSED)
def test_a_refusal_names_its_place_and_reason(
    source: str, line: int, column: int, message: str
) -> None:
    """Kind, line, column and message are in the error, with the source line."""
    with pytest.raises(SourceError) as caught:
        compile_source(source)
    details = caught.value.details
    assert details["kind"] == "refused"
    assert (details["line"], details["column"]) == (line, column)
    assert details["problems"][0] == {"line": line, "column": column, "message": message}
    assert details["source_line"] == source.split("\n")[line - 1]
    assert message in str(caught.value)


def test_all_problems_are_listed_in_the_order_of_the_source() -> None:
    """One round is enough to learn of everything that is wrong."""
    with pytest.raises(SourceError) as caught:
        compile_source("a.__code__\nb = 1\nc(d.gi_code, e.__globals__)")
    assert [(one["line"], one["column"]) for one in caught.value.details["problems"]] == [
        (1, 0),
        (3, 2),
        (3, 13),
    ]
    assert str(caught.value).endswith("(and 2 more)")


def test_the_list_of_problems_is_bounded() -> None:
    """A thousand problems do not make a thousand entries."""
    with pytest.raises(SourceError) as caught:
        compile_source("a.__code__\n" * 1000)
    assert len(caught.value.details["problems"]) == 64


def test_columns_count_characters() -> None:
    """A line with letters outside ASCII does not shift what comes after them."""
    with pytest.raises(SourceError) as caught:
        compile_source('x = "äöü€", y.__code__')
    details = caught.value.details
    assert (details["column"], details["end_column"]) == (12, 22)
    assert details["problems"][0]["column"] == 12


@pytest.mark.parametrize("separator", ["\x0c", "\x1c", "\u2028", "\x85"])
def test_lines_are_those_that_python_counts(separator: str) -> None:
    """Characters that only some editors take for a line end do not shift the source line."""
    with pytest.raises(SourceError) as caught:
        compile_source(f"x = '{separator}'\r\nb = 1\ry.__code__")
    assert caught.value.details["source_line"] == "y.__code__"
    assert caught.value.details["line"] == 3


@pytest.mark.parametrize(
    ("source", "line", "column", "fragment"),
    [
        ("x = = 1", 1, 4, "invalid syntax"),
        ("def f(:\n    pass", 1, 6, "invalid syntax"),
        ("if True:\nx", 2, 0, "expected an indented block"),
        ("x = (1,\n", 1, 4, "was never closed"),
        ("print 'x'", 1, 0, "Missing parentheses"),
        ("class A:\n    return 1", 2, 4, "'return' outside function"),
        ("return 1\nclass A:\n    return 1", 3, 4, "'return' outside function"),
        ("return 1\nyield 2", 2, 0, "'yield' outside function"),
        ("if x:\n    return (yield 2)", 2, 12, "'yield' outside function"),
        ("return 1\nbreak", 2, 0, "'break' outside loop"),
        ("return 1\nnonlocal x", 2, 0, "nonlocal declaration not allowed at module level"),
        ("return 1\nfrom __future__ import annotations", 2, 0, "must occur at the beginning"),
        ("def f():\n    nonlocal x", 2, 4, "no binding for nonlocal"),
        ('ä = "ö" 1', 1, 8, "invalid syntax"),
    ],
)
def test_a_syntax_error_names_its_place(source: str, line: int, column: int, fragment: str) -> None:
    """What Python says about the syntax, at the place that Python names."""
    with pytest.raises(SourceError, match="syntax error on line") as caught:
        compile_source(source)
    details = caught.value.details
    assert details["kind"] == "syntax"
    assert (details["line"], details["column"]) == (line, column)
    assert fragment in details["problems"][0]["message"]


@pytest.mark.parametrize(
    ("source", "fragment"),
    [
        ("#" * (MAX_SOURCE_BYTES + 1), "over the limit"),
        ("ä" * (MAX_SOURCE_BYTES // 2 + 1), "over the limit"),
        ("x = " + "-" * 30_000 + "1", "nests too deeply"),
        ("x" + ".a" * 50_000, "nests too deeply"),
        ("x = '\x00'", "null bytes"),
        ("x = '\ud800'", "not valid text"),
    ],
)
def test_hostile_text_is_refused_in_words(source: str, fragment: str) -> None:
    """Too long, too deep or not valid text: always a SourceError."""
    with pytest.raises(SourceError, match=fragment) as caught:
        compile_source(source)
    assert caught.value.details["kind"] in ("refused", "syntax")


@pytest.mark.parametrize("name", "open compile input breakpoint help".split())
def test_a_dangerous_builtin_is_not_there(name: str) -> None:
    """What is left out of the builtins is a NameError, as any missing name is."""
    with pytest.raises(NameError, match=f"name '{name}' is not defined"):
        run(name)


def test_a_private_attribute_of_a_library_is_refused_when_it_is_read() -> None:
    """A name cannot settle whose attribute it is; the object does."""
    source = dedent(
        """
        class Mine:
            _x = 1
        [Mine._x, (1)._x]
        """
    )
    with pytest.raises(AttributeError, match="`int` has no private attributes"):
        run(source)


def test_nothing_runs_before_the_whole_source_is_accepted() -> None:
    """A refusal on the last line means that the first line did not run."""
    seen: list[int] = []
    with pytest.raises(SourceError):
        run("seen.append(1)\nseen.__class__.__globals__", {"seen": seen})
    assert seen == []
