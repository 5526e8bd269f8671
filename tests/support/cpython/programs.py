"""Makes programs for the sandbox of the test files of the running Python."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

from caps.protocol.messages import MAX_SOURCE_BYTES
from support.cpython.refusals import is_test, without_refusals
from support.cpython.sources import SourceFile

STAND_IN = Path(__file__).parents[2] / "cpython" / "stand_in.py"
_MARGIN = 8 * 1024  # for the call at the end, which names the tests to leave out


@dataclass(frozen=True, slots=True)
class TestProgram:
    """A program that defines a test file, and the classes whose tests it is to run."""

    source: str
    classes: tuple[str, ...]

    def without(self, tests: set[str]) -> str:
        """The source of the program that runs all tests but these."""
        return f"{self.source}\nrun_all_({list(self.classes)!r}, {sorted(tests)!r})\n"


def make_programs(module: str) -> list[TestProgram]:
    """The programs that together run all tests of a module: several if it is long."""
    file = SourceFile()
    body, front = file.adapt(module)
    future = "from __future__ import annotations\n" if file.has_future(module) else ""
    head = future + STAND_IN.read_text()
    classes = [name for one in body for name in _bound_names(one)]
    groups = [classes]
    while True:
        programs = [_program(head, front, body, group) for group in groups]
        if all(len(one.source.encode()) + _MARGIN < MAX_SOURCE_BYTES for one in programs):
            return programs
        if all(len(group) < 2 for group in groups):
            raise ValueError(f"`test.{module}` is too long for one program")
        groups = [half for group in groups for half in _halves(group)]


def _halves(names: list[str]) -> list[list[str]]:
    middle = (len(names) + 1) // 2
    return [half for half in (names[:middle], names[middle:]) if half]


def _program(
    head: str, front: list[ast.stmt], body: list[ast.stmt], names: list[str]
) -> TestProgram:
    """The program of some classes; those that they do not need lose their tests."""
    kept = _with_ancestors([*front, *body], names)
    tree = ast.Module([_without_tests(one, kept) for one in [*front, *body]], [])
    return TestProgram(head + without_refusals(tree), tuple(names))


def _with_ancestors(body: list[ast.stmt], names: list[str]) -> set[str]:
    classes = {one.name: one for one in body if isinstance(one, ast.ClassDef)}
    kept, pending = set(names), list(names)
    while pending:
        found = classes.get(pending.pop())
        for base in found.bases if found else []:
            name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
            if name in classes and name not in kept:
                kept.add(name)
                pending.append(name)
    return kept


def _without_tests(statement: ast.stmt, kept: set[str]) -> ast.stmt:
    if not isinstance(statement, ast.ClassDef) or statement.name in kept:
        return statement
    rest = [one for one in statement.body if not is_test(one)] or [ast.Pass()]
    return ast.ClassDef(**{**vars(statement), "body": rest})


def _bound_names(node: ast.stmt) -> list[str]:
    """The names that may be classes of tests after a statement at the top."""
    if isinstance(node, ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    return [one.id for one in ast.walk(ast.List(targets)) if isinstance(one, ast.Name)]
