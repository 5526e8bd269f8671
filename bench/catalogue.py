"""All rows, in the order of the goals."""

from __future__ import annotations

from bench.rows import Row
from bench.scenarios import (
    calls,
    cold,
    compiling,
    cpu,
    decisions,
    evidence,
    growth,
    injection,
    mcp_in,
    memory,
    pages,
    serving,
    starts,
    stored,
    sustained,
)

ROWS: tuple[Row, ...] = (
    *starts.ROWS,
    *sustained.ROWS,
    *calls.ROWS,
    *pages.ROWS,
    *mcp_in.ROWS,
    *serving.ROWS,
    *evidence.ROWS,
    *stored.ROWS,
    *decisions.ROWS,
    *injection.ROWS,
    *cpu.ROWS,
    *compiling.ROWS,
    *memory.ROWS,
    *cold.ROWS,
    *growth.ROWS,
)


def chosen(wanted: list[str]) -> tuple[Row, ...]:
    """The rows whose names are, or begin with, one of `wanted`; all if it is empty.

    Raises LookupError with the first name that matches no row.
    """
    for name in wanted:
        if not any(row.name.startswith(name) for row in ROWS):
            raise LookupError(name)
    return tuple(
        row for row in ROWS if not wanted or any(row.name.startswith(name) for name in wanted)
    )
