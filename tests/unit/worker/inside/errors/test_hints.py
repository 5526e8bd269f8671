"""A common mistake gets a line of advice with its error."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from caps.protocol.errors import ProviderError
from caps.worker.inside.errors.report import describe, describe_source
from caps.worker.inside.facades.alternatives import granted_name, remember_granted
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
    ("datetime.now()", "write `from datetime import datetime` first"),
    ("datetime.timedelta(1)", "write `import datetime` first"),
    ("copy([1])", "write `from copy import copy` first"),
    ("ArgumentParser()", "write `from argparse import ArgumentParser` first"),
    ("argparse.ArgumentParser()", "write `import argparse` first"),
    ("ET.fromstring('<a/>')", "write `import xml.etree.ElementTree as ET` first"),
    ("pd.DataFrame()", '`pd` is usually `pandas`; a policy can grant it: "modules": ["pandas"]'),
    ("asyncio.run(1)", "write `import asyncio` first"),
    ("pathlib.PurePath('a')", "write `import pathlib` first"),
    ("traceback.print_exc()", "write `import traceback` first"),
    ("warnings.warn('a')", "write `import warnings` first"),
    ("zoneinfo.ZoneInfo('UTC')", "write `import zoneinfo` first"),
    ("Path('a').read_text()", "there are no files here; a policy may grant `caps.files.read`"),
    ("Path('a').write_text('b')", "there are no files here; a policy may grant `caps.files.write`"),
    ("main()", "the code has no `main` here; define it above its first use"),
    ("sqrt(2)", "write `from math import sqrt` first"),
    ("async def f(): pass\nlen(f())", "the call was not awaited"),
    ("async def f(): pass\n1 + f()", "the call was not awaited"),
    ("async def f(): pass\n','.join([f()])", "the call was not awaited"),
    ("async def f(): pass\nimport json\njson.dumps(f())", "the call was not awaited"),
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


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize(
    ("use", "hint"),
    [
        ("asyncio.gather(f())[0]", "the call was not awaited; write `await` before it"),
        ("a, b = asyncio.gather(f(), f())", "the call was not awaited; write `await` before it"),
        ("asyncio.gather(f()).name", "the call was not awaited; write `await` before it"),
        ("asyncio.create_task(f()).name", "it is a task; `await` gives its result"),
        ("class Task: pass\nTask().name", None),
    ],
)
def test_a_task_that_is_used_as_its_result_is_explained(use: str, hint: str | None) -> None:
    """A class of the user's may have the same name."""
    program = compile_source(f"import asyncio\nasync def f():\n    return 1\n{use}\nawait f()")
    with pytest.raises((AttributeError, RuntimeError, TypeError)) as caught:
        run_program(program)
    assert describe(caught.value, {program.filename: program}).hint == hint
    del caught
    gc.collect()


@pytest.mark.parametrize(
    "use", ["await f()", "for x in f(): pass", "list(f())", "[x for x in f()]", "f()[0]", "f().a"]
)
def test_a_stream_that_is_used_as_its_items_is_explained(use: str) -> None:
    """It is read with `async for`; `await` would be the next error."""
    program = compile_source(f"async def f():\n    yield 1\n{use}")
    with pytest.raises((AttributeError, TypeError)) as caught:
        run_program(program)
    assert "`async for item in`" in str(describe(caught.value, {program.filename: program}).hint)


def test_await_in_a_plain_function_is_explained() -> None:
    """Python says where it went wrong; the hint says what to write."""
    with pytest.raises(SourceError) as caught:
        compile_source("def f():\n    return await g()")
    report = describe_source(caught.value, "<agent>", "")
    assert report.hint == "`await` belongs into an `async def`, or outside of every function"


def test_a_refused_name_has_a_remedy() -> None:
    """What to write instead is a hint beside the refusal."""
    with pytest.raises(SourceError) as caught:
        compile_source("def f(): pass\nf.__code__.co_argcount")
    report = describe_source(caught.value, "<agent>", "")
    assert report.hint == "`inspect.signature` shows the parameters of a function"


@pytest.mark.parametrize("source", ["1 / 0", "raise NameError", "raise TypeError(3)", "unheard_of"])
def test_other_errors_have_none(source: str) -> None:
    """Advice that does not fit would be worse than none."""
    program = compile_source(source)
    with pytest.raises(Exception) as caught:
        run_program(program)
    assert describe(caught.value, {program.filename: program}).hint is None


@pytest.fixture
def granted() -> Iterator[None]:
    """Some functions are granted."""
    remember_granted("caps", ["customers.find", "files.write"])
    yield
    remember_granted("caps", [])


def test_the_names_are_read_when_a_hint_needs_them() -> None:
    """Only those of the latest grant, and once."""
    earlier, later = iter(["mail.send"]), iter(["customers.find"])
    remember_granted("tools", earlier)
    remember_granted("caps", later)
    found = granted_name("customers.find"), granted_name("customers")
    assert found == ("caps.customers.find", "caps.customers")
    assert granted_name("mail.send") is None
    assert (list(earlier), list(later)) == (["mail.send"], [])
    remember_granted("caps", [])
    assert granted_name("customers") is None


@pytest.mark.usefixtures("granted")
@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("customers.find(1)", "write `caps.customers.find`"),
        ("customers.fnd(1)", "write `caps.customers`"),
        (
            "open('a', mode='w')",
            "there are no files here; use `await caps.files.write(path=..., content=...)` instead",
        ),
        ("open('a')", "there are no files here; a policy may grant `caps.files.read` instead"),
        ("value = 1\nvaleu", "did you mean `value`?"),
        ("def f(counter):\n    return conuter\nf(1)", "did you mean `counter`?"),
        ("'x'.uper()", "did you mean `upper`?"),
        ("class A:\n    total = 1\nA.totl", "did you mean `total`?"),
        ("int.frm_bytes", "did you mean `from_bytes`?"),
        (
            "class A:\n    def __init__(self):\n        self.total = 1\nA().totl",
            "did you mean `total`?",
        ),
    ],
)
def test_a_hint_names_what_is_there(source: str, hint: str) -> None:
    """A function that is granted, a variable of the code, an attribute of the object."""
    program = compile_source(source)
    with pytest.raises((NameError, AttributeError)) as caught:
        run_program(program)
    assert describe(caught.value, {program.filename: program}).hint == hint


def test_code_that_prints_a_caught_error_sees_the_hint() -> None:
    """Once, also if it is raised again; the text of other errors stays."""
    source = "value = 1\ntry:\n    valeu\nexcept NameError as error:\n    raise"
    program = compile_source(source)
    with pytest.raises(NameError) as caught:
        run_program(program)
    assert str(caught.value) == "name 'valeu' is not defined; did you mean `value`?"
    report = describe(caught.value, {program.filename: program})
    assert report.traceback.count("did you mean") == 1


def test_an_attribute_is_suggested_without_asking_the_object() -> None:
    """`dir` would run code of the user's."""
    program = compile_source("class A:\n    def __dir__(self): raise SystemExit\nA().missing")
    with pytest.raises(AttributeError) as caught:
        run_program(program)
    assert describe(caught.value, {program.filename: program}).hint is None


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("class A:\n    return 1", "belongs into a function, or to the top level"),
        ("```python\nprint(1)\n```", "remove the Markdown fences around the code"),
        ("print(1)\n```", "remove the Markdown fences around the code"),
        ("Here is it:\n```\nprint(1)\n```", "remove the Markdown fences around the code"),
        ("!pip install numpy\nimport numpy", "remove the line that starts with `!`"),
        ("%matplotlib inline\nx = 1", "remove the line that starts with `%`"),
        ("\nHere is the code:\nprint(1)", "the first line is not code; remove the text around"),
        ("Sure, I can do that.\nprint(1)", "the first line is not code; remove the text around"),
    ],
)
def test_a_mistake_of_form_is_met_with_advice(source: str, advice: str) -> None:
    """What models write around code, or at its end."""
    with pytest.raises(SourceError) as caught:
        compile_source(source)
    report = describe_source(caught.value, "<agent>", source)
    assert report.hint is not None
    assert advice in report.hint


@pytest.mark.parametrize(
    "source", ["For x in range(3):\n    x", "x = 1\ny = (\n", "a b c", "Abc = (1"]
)
def test_other_mistakes_of_form_have_none(source: str) -> None:
    """A keyword with a capital letter is no sentence."""
    with pytest.raises(SourceError) as caught:
        compile_source(source)
    assert describe_source(caught.value, "<agent>", source).hint is None


def test_the_name_of_a_providers_error_is_not_its_class() -> None:
    """It arrives as a `ProviderError`; a name that it does not have gets no such hint."""
    failed = ProviderError("NotFound: no such customer", error="NotFound")
    for name, is_told in (("NotFound", True), ("Missing", False)):
        program = compile_source(f"try:\n    raise failed\nexcept {name}:\n    pass")
        with pytest.raises(NameError) as caught:
            run_program(program, {"failed": failed})
        told = "it is no class here; catch `caps.ProviderError`, whose `error` is `NotFound`"
        assert (describe(caught.value, {program.filename: program}).hint == told) is is_told
