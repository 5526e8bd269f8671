"""Writes the tables of environment variables in the documents; `--check` says if one is stale."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from caps.protocol.environment import Variable

ROOT = Path(__file__).parents[1]
HEADER = "| variable | what it sets | default |\n|---|---|---|\n"
TABLE = re.compile(re.escape(HEADER) + r"(?:\|.*\n)*")
AUDIT = "CAPS_AUDIT_"
OTHER_AUDIT_ROW = (
    "| `CAPS_AUDIT_*` | durability, rotation, checkpoints and sinks (syslog, OTLP, a database, "
    "another file) | [docs/audit.md](docs/audit.md#settings) |\n"
)


def tables() -> dict[Path, str]:
    """The table of each document. In README, one row stands for the details of the audit log."""
    audit = [variable for variable in Variable if variable.key.startswith(AUDIT)]
    readme = [
        _row(variable) + (OTHER_AUDIT_ROW if variable is Variable.AUDIT_PATH else "")
        for variable in Variable
        if variable not in audit or variable is Variable.AUDIT_PATH
    ]
    return {
        ROOT / "README.md": HEADER + "".join(readme),
        ROOT / "docs" / "audit.md": HEADER + "".join(map(_row, audit)),
    }


def _row(variable: Variable) -> str:
    return f"| `{variable.key}` | {variable.sets} | {variable.default} |\n"


def updated(document: str, table: str) -> str:
    """`document` with `table` in the place of the one that it has."""
    text, count = TABLE.subn(lambda _: table, document)
    if count != 1:
        raise ValueError(f"the document has {count} tables of variables")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only say whether they are up to date")
    check = parser.parse_args().check
    for path, table in tables().items():
        document = path.read_text()
        text = updated(document, table)
        if not check:
            path.write_text(text)
        elif document != text:
            sys.exit(f"{path.relative_to(ROOT)} is out of date; run `make variables`")


if __name__ == "__main__":
    main()
