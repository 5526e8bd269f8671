"""A common mistake gets a line of advice with its error."""

from __future__ import annotations

import gc

import pytest

from caps.worker.inside.errors.hints import remember_domains
from caps.worker.inside.errors.report import describe, describe_source
from caps.worker.inside.language.compiler import SourceError, compile_source
from support.language_programs import run_program

# source, part of the hint
SLIPS = [
    ("async def f(): return {}\nf()['a']", "was not awaited"),
    ("async def f(): return 1\nf().real", "was not awaited"),
    ("async def f(): return 1\nfor x in f(): pass", "was not awaited"),
    ("open('notes.txt')", "caps.files.read"),
    ("input('name? ')", "nobody is there"),
    ("math.sqrt(2)", "`import math`"),
    ("collectionz.Counter()", "`collections`"),
    ("defaultdict(int)", "write `from collections import defaultdict` first"),
    ("x: Optional = Optional[int]", "write `from typing import Optional` first"),
    ("open('a', 'w')", "caps.files.write"),
]


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize(("source", "advice"), SLIPS)
def test_a_slip_is_met_with_advice(source: str, advice: str) -> None:
    """The report has it as data and as the last line of the traceback."""
    program = compile_source(source)
    with pytest.raises((AttributeError, NameError, TypeError)) as caught:
        run_program(program)
    report = describe(caught.value, {program.filename: program})
    assert report.hint is not None
    assert advice in report.hint
    assert report.traceback.endswith(f"hint: {report.hint}\n")
    del caught
    gc.collect()  # the coroutine goes here, where its warning is expected


def test_await_in_a_plain_function_is_explained() -> None:
    """Python says where it went wrong; the hint says what to write."""
    with pytest.raises(SourceError) as caught:
        compile_source("def f():\n    return await g()")
    report = describe_source(caught.value, "<agent>")
    assert report.hint == "`await` belongs into an `async def`, or outside of every function"


@pytest.mark.parametrize("source", ["1 / 0", "raise NameError", "raise TypeError(3)", "unheard_of"])
def test_other_errors_have_none(source: str) -> None:
    """Advice that does not fit would be worse than none."""
    program = compile_source(source)
    with pytest.raises(Exception) as caught:
        run_program(program)
    assert describe(caught.value, {program.filename: program}).hint is None


def test_the_bare_name_of_a_granted_domain_gets_its_namespace() -> None:
    """A model forgets the prefix."""
    remember_domains("caps", ["customers"])
    program = compile_source("customers.find(1)")
    with pytest.raises(NameError) as caught:
        run_program(program)
    assert describe(caught.value, {program.filename: program}).hint == "write `caps.customers`"
    remember_domains("caps", [])


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("class A:\n    return 1", "belongs into a function, or to the top level"),
        ("```python\nprint(1)\n```", "remove the Markdown fences around the code"),
        ("print(1)\n```", "remove the Markdown fences around the code"),
    ],
)
def test_a_mistake_of_form_is_met_with_advice(source: str, advice: str) -> None:
    """What models write around code, or at its end."""
    with pytest.raises(SourceError) as caught:
        compile_source(source)
    report = describe_source(caught.value, "<agent>")
    assert report.hint is not None
    assert advice in report.hint
