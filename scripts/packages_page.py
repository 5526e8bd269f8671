"""Write docs/packages.md from the files that try packages; `--check` fails if it is stale."""

from __future__ import annotations

import json
import sys

from generated_page import ROOT, table_cell, write_or_check

sys.path.insert(0, str(ROOT / "tests"))

from support.package_files import (
    PackageFile,
    package_files,
)

PAGE = ROOT / "docs" / "packages.md"
INTRODUCTION = """\
# Packages

What works in a worker whose policy grants a package, and what does not. `make packages` generates
the tables from `tests/packages/`: each line is a program there, which the tests run in a confined
worker with the default limit of memory. [policy.md](policy.md#real-modules) says what a grant
means.

In short:

- **There are no files, no network, no threads and no other processes**, whatever a package tries.
  Read from and write to memory (`io.StringIO`, `io.BytesIO`); use granted functions for the rest.
  Packages see one processor, so `n_jobs=-1` means one job.
- **A package that is not on this page** works if it is pure computation. If a function fails with
  `No module named ...`, it imports a part of the package late: add this part to the policy,
  `{"modules": ["sympy", "sympy.physics.mechanics"]}`. It is then loaded before the code starts.
- **A dotted name alone** loads only that part: `{"modules": ["scipy.optimize"]}` starts faster than
  `{"modules": ["scipy"]}`, which loads all public parts of scipy.
- **Packages that another package uses for one method** (`df.style`: jinja2; `df.plot`: matplotlib;
  `read_excel`: openpyxl; `read_html`: lxml) need a grant of their own.
- `from sympy import *` is refused, as from every module: name what you import.
- Data files that come with a package (fonts of matplotlib, data sets of scikit-learn) and time
  zones are in memory.

| package | version | policy |
|---|---|---|
"""


def page() -> str:
    """The text of the page."""
    files = package_files()
    rows = [
        f"| [{file.name}](#{file.name}) | {file.version} | "
        f"`{json.dumps({'modules': file.modules})}`{' is refused' * bool(file.refused)} |"
        for file in files
    ]
    return INTRODUCTION + "\n".join(rows) + "\n" + "".join(map(_section, files))


def _section(file: PackageFile) -> str:
    lines = ["", f"## {file.name}", ""]
    if file.note:
        lines += [f"Note: {file.note}.", ""]
    if file.refused:
        return "\n".join([*lines, f"The policy is refused: {file.why}.", ""])
    lines += ["| what | works |", "|---|---|"]
    for cell in file.cells:
        lines.append(
            f"| {table_cell(cell.title)} | {f'no: {table_cell(cell.why)}' if cell.why else 'yes'} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    write_or_check(PAGE, page(), target="packages", description=__doc__)
