"""Write docs/language.md from the files that test the language; `--check` fails if it is stale."""

from __future__ import annotations

import sys
from collections import Counter

from generated_page import ROOT, table_cell, write_or_check

sys.path.insert(0, str(ROOT / "tests"))

from support.cpython.differences import HERE, expected, modules, reasons
from support.language_files import constructs, refused

PAGE = ROOT / "docs" / "language.md"
# The page is the same whatever Python writes it.
RECORDED_VERSION = "3.11"
INTRODUCTION = """\
# The language

Code in the sandbox is ordinary Python with top-level `await`. Code that a static check of its names
shows to be safe runs as plain bytecode, without a guard.

`make language` generates this page from `tests/constructs/`, `tests/refused/` and `tests/cpython/`.
Each construct below is a program there, which the tests run in a confined worker.

## What is refused, and why

| what | why | error |
|---|---|---|
"""


DIFFERENCES = """\
## How it differs from CPython

CPython's own tests of the library and the language run in a confined worker, test by test. Those
that end differently are listed, each with its reason, in [tests/cpython](../tests/cpython); our
tests fail if one is missing there, or no longer differs. Most of them end with an error that says
what is not there. `scripts/cpython_tests.py --show` runs them and shows how each one ends.

Text that `exec` runs with a dictionary has variables of its own, because the guards are among them.
They are brought in line with the dictionary when `exec` begins and ends, and when a function of the
text is entered or ends. So a lambda sees a change of the dictionary only after one of these, and a
function does not see that the program replaced another function, class or module of the same text.

The counts are those of Python {version}: {tests} tests of {modules} test files.

| what differs | why | tests |
|---|---|---|
"""


def differences() -> str:
    """The table of what differs from CPython, and how many tests show it."""
    recorded = HERE / RECORDED_VERSION
    names = modules(recorded)
    counts = Counter(key for name in names for key in expected(name, recorded).values())
    lines = [
        f"| {table_cell(one.title)} | {table_cell(one.why)} | {counts[one.key]} |"
        for one in reasons().values()
    ]
    head = DIFFERENCES.format(version=RECORDED_VERSION, tests=counts.total(), modules=len(names))
    return head + "\n".join(lines)


def page() -> str:
    """The text of the page."""
    lines = [
        f"| {table_cell(one.what)} | {table_cell(one.why)} "
        f"| {one.error}: {table_cell(one.message)} |"
        for one in refused()
    ]
    works = [
        f"- {one.title} ([{one.name}](../tests/constructs/{one.name}.py))" for one in constructs()
    ]
    return (
        INTRODUCTION
        + "\n".join(lines)
        + f"\n\n{differences()}"
        + f"\n\n## What works: {len(works)} tested constructs\n\n"
        + "\n".join(works)
        + "\n"
    )


if __name__ == "__main__":
    write_or_check(PAGE, page(), target="language", description=__doc__)
