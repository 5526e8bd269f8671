"""Every sentence of the sections that are built has a test that names it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from support.spec_sentences import INTERFACES, SECTIONS
from support.spec_text import sentences, spec_text

TESTS = Path(__file__).parents[1]
NAMES = [*(name for section in SECTIONS.values() for name in section), *INTERFACES]


def named_by_tests() -> dict[str, list[str]]:
    """For each name in a `spec` mark, the test functions that have it."""
    found: dict[str, list[str]] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for name in _marks(node):
                    found.setdefault(name, []).append(node.name)
    return found


def _marks(test: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    return [
        argument.value
        for mark in test.decorator_list
        if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.spec"
        for argument in mark.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda each: f"{each[0]} {each[1].strip('# ')}")
def test_the_table_is_what_the_specification_says(section: tuple[str, str]) -> None:
    """No sentence is left out, and none is changed."""
    number, heading = section
    assert list(SECTIONS[section].values()) == sentences(spec_text(number), heading)


@pytest.mark.parametrize("name", INTERFACES)
def test_the_interfaces_are_those_of_the_specification(name: str) -> None:
    """Each line is there."""
    text = spec_text(name[:3])
    assert [line for line in INTERFACES[name] if line not in text] == []


def test_every_sentence_is_named_by_a_test() -> None:
    """And no test names one that does not exist."""
    named = named_by_tests()
    assert [name for name in NAMES if name not in named] == []
    numbered = {name for name in named if name[:4] in ("000-", "004-")}
    assert sorted(numbered - set(NAMES)) == []
