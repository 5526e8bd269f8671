"""Every name of the library of user space is used once, and does what Python's own does."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from caps import MemoryAuditLog, Runtime
from caps.worker.inside.facades.allowlist import FACADES
from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.stdlib.importer import Importer
from caps.worker.inside.stdlib.replacements import REPLACEMENTS
from caps.worker.inside.stdlib.user_modules.table import USER_MODULES
from support.facade_samples import SAMPLES
from support.language_programs import run

PROGRAMS = [
    pytest.param(program, id=f"{module}-{number}")
    for module, programs in SAMPLES.items()
    for number, program in enumerate(programs)
]


def plainly(source: str) -> Any:
    """The value of the last expression, as the interpreter itself gives it."""
    tree = ast.parse(source)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    names = vars(ModuleType("__main__"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of names that user space still has
        exec(compile(tree, "<plain>", "exec", dont_inherit=True), names)
        expression = ast.Expression(last.value)
        return eval(compile(expression, "<plain>", "eval", dont_inherit=True), names)


def told(value: Any) -> str:
    """`value` as text without the addresses in it."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_name_works_as_in_the_module_itself(program: str) -> None:
    """The same program has the same result in user space and in plain Python."""
    assert told(run(program).value) == told(plainly(program))


@pytest.mark.parametrize("module", sorted({*FACADES, *REPLACEMENTS}))
def test_every_name_is_used_by_a_sample(module: str) -> None:
    """A name that is added comes with a program that uses it."""
    facade = Importer(OwnClasses(), {})._find(module)
    used = set(re.findall(r"\w+", "\n".join(SAMPLES[module])))
    assert [name for name in dir(facade) if name not in used] == []


@pytest.mark.process
@pytest.mark.anyio
async def test_the_samples_run_in_a_worker_that_has_no_files_and_no_imports() -> None:
    """What a module loads on first use was loaded before; nothing asks the kernel for more."""
    failed = {}
    async with Runtime({}, audit=MemoryAuditLog()) as runtime:
        for module, programs in SAMPLES.items():
            for program in programs:
                result = await runtime.run(program)
                if result.error is not None:
                    failed[module, program] = result.error.traceback
    assert failed == {}


def test_the_document_lists_every_module() -> None:
    """What can be imported is what the page for the code's authors says."""
    page = (Path(__file__).parents[5] / "docs" / "user-space.md").read_text()
    table = page.partition("| for | modules |\n|---|---|\n")[2].partition("\n\n")[0]
    listed = [name for row in table.splitlines() for name in row.split("|")[2].strip().split(", ")]
    in_user_space = {name.removesuffix("\\*") for name in listed if name.endswith("\\*")}
    assert in_user_space == {*USER_MODULES}
    facades = {name for name in listed if not name.endswith("\\*")}
    newer = set() if sys.version_info >= (3, 14) else {"string.templatelib"}
    assert facades - newer == {*FACADES, *REPLACEMENTS}
    assert len(set(listed)) == len(listed)
