"""Write docs/language.md from the files that test the language; `--check` fails if it is stale."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.cpython.differences import HERE, expected, modules, reasons  # noqa: E402 - the path has to be set first
from support.language_files import constructs, refused  # noqa: E402 - the same

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
        f"| {_cell(one.title)} | {_cell(one.why)} | {counts[one.key]} |"
        for one in reasons().values()
    ]
    head = DIFFERENCES.format(version=RECORDED_VERSION, tests=counts.total(), modules=len(names))
    return head + "\n".join(lines)


def page() -> str:
    """The text of the page."""
    lines = [
        f"| {_cell(one.what)} | {_cell(one.why)} | {one.error}: {_cell(one.message)} |"
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


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only check whether it is up to date")
    if not parser.parse_args().check:
        PAGE.write_text(page())
    elif not PAGE.exists() or PAGE.read_text() != page():
        sys.exit("docs/language.md is out of date; run `make language`")


if __name__ == "__main__":
    main()
