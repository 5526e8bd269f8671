"""Ordinary Python works in user space: each construct runs and gives what Python gives."""

from __future__ import annotations

import ast
import asyncio
import subprocess
import sys
import warnings
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

from support.language_files import constructs_here
from support.language_programs import run

FILES = {one.name: one.source for one in constructs_here()}


@pytest.mark.parametrize("name", FILES)
def test_a_construct_is_what_python_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own assertions hold in plain Python: it shows the language, not our idea of it."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    code = compile(FILES[name], name, "exec", flags, dont_inherit=True)
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of what user space still has
        outcome = eval(code, vars(main))
        if outcome is not None:
            asyncio.run(outcome)


@pytest.mark.parametrize("name", FILES)
def test_a_construct_works(name: str) -> None:
    """They hold in the restricted language as well."""
    run(FILES[name])


@pytest.mark.parametrize("name", FILES)
def test_a_construct_works_in_a_program_that_returns(name: str) -> None:
    """A `return` at the top level changes how a program is compiled, and nothing else."""
    assert run(f"{FILES[name]}\nreturn 'end'").value == "end"


def test_our_errors_can_be_caught_by_name() -> None:
    """They need no import."""
    source = """
    try:
        raise PolicyDeniedError("no", capability="files.read")
    except CapsError as e:
        r = (e.capability, e.code)
    result = r
    assert result == ('files.read', 'policy_denied')
    """
    run(dedent(source))


def test_print_is_captured_with_its_separators() -> None:
    """`print` honours `sep` and `end` and writes plain text."""
    ran = run("print(1, 'a', None, sep='-', end='!')\nprint()\nprint('x', flush=True)")
    assert ran.printed == "1-a-None!\nx\n"


def test_print_takes_a_file_of_the_codes_own() -> None:
    """Anything with a `write` will do; what has none is an error."""
    ran = run("import io\nb = io.StringIO()\nprint(1, 2, file=b, flush=True)\nb.getvalue()")
    assert (ran.value, ran.printed) == ("1 2\n", "")
    with pytest.raises(AttributeError, match="'list' object has no attribute 'write'"):
        run("print(1, file=[])")


@pytest.mark.parametrize(
    "source",
    [
        "print('a', 'b', sep=S('-'), end=S('.'))",
        "class C:\n    def __str__(self): return S('a-b')\nprint(C(), end=S('.'))",
    ],
)
def test_print_writes_plain_text_whatever_the_strings_do(source: str) -> None:
    """A subclass of str in any place cannot put something else into the output."""
    subclass = dedent(
        """
        class S(str):
            def join(self, parts): return 1
            def __radd__(self, other): return 2
            def __add__(self, other): return 3
        """
    )
    assert run(subclass + source).printed == "a-b."


@pytest.mark.process
def test_constructs_work_when_nothing_more_can_be_imported() -> None:
    """A worker drops the import system before it runs code; no construct needs it."""
    script = f"""
import sys
from textwrap import dedent
sys.path[:0] = {[str(Path(__file__).parents[4])]!r}
from support.language_programs import run
from caps.worker.inside.stdlib.importer import load_facades
load_facades()
sys.path.clear(), sys.meta_path.clear(), sys.path_hooks.clear(), sys.path_importer_cache.clear()
for name, source in {list(FILES.items())!r}:
    try:
        run(source)
    except BaseException as error:
        print(name, type(error).__name__, error)
"""
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    assert ran.stdout == ""
