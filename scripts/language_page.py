"""Write docs/language.md from the files that test the language; `--check` fails if it is stale."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.language_files import constructs, refused  # noqa: E402 - the path has to be set first

PAGE = ROOT / "docs" / "language.md"
INTRODUCTION = """\
# The language

Code in the sandbox is ordinary Python with top-level `await`. Code that a static check of its names
shows to be safe runs as plain bytecode, without a guard.

`make language` generates this page from `tests/constructs/` and `tests/refused/`. Each line below
is a program there, which the tests run in a confined worker.

## What is refused, and why

| what | why | error |
|---|---|---|
"""


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
