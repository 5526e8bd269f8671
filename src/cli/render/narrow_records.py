"""Audit records on a terminal that is too narrow for a table: a few lines for each record.

What a reader looks for (number, time, execution, verdict) is in columns on the first line, which
never breaks. What was done and why follow if there is room, else below, broken between words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.padding import Padding
from rich.text import Text

from caps.cli.render.tables import SHORT_ID, Row, row_of, short_time, wide_table
from caps.protocol.text import escape_unprintable
from caps.security.audit import AuditRecord

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

# Below this width, columns that do not break would take more than half of a table.
MIN_TABLE_WIDTH: Final = 100

_TIME: Final = 18
_GAP: Final = "  "


class NarrowRecords:
    """Records as a table, or as blocks if the console is too narrow for one."""

    def __init__(self, records: Sequence[AuditRecord], *, of_one_execution: bool) -> None:
        self._records = records
        self._of_one_execution = of_one_execution

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> RenderResult:
        if options.max_width >= MIN_TABLE_WIDTH:
            yield wide_table(self._records, of_one_execution=self._of_one_execution)
            return
        rows = [row_of(record.event) for record in self._records]
        number = max([len("seq"), *(len(str(record.seq)) for record in self._records)])
        verdict = max(
            [len("verdict"), *(cell_len(escape_unprintable(row.verdict)) for row in rows)]
        )
        columns = [number, _TIME, *([] if self._of_one_execution else [SHORT_ID]), verdict]
        yield from self._heading(columns)
        for record, row in zip(self._records, rows, strict=True):
            yield from self._block(record, row, columns, options.max_width)

    def _heading(self, columns: Sequence[int]) -> RenderResult:
        names = ["seq", "time", *([] if self._of_one_execution else ["execution"]), "verdict"]
        head = _GAP.join(name.ljust(width) for name, width in zip(names, columns, strict=True))
        yield Text(f"{head}{_GAP}what and why", style="bold", no_wrap=True)

    def _block(
        self, record: AuditRecord, row: Row, columns: Sequence[int], width: int
    ) -> RenderResult:
        cells = [
            str(record.seq).rjust(columns[0]),
            escape_unprintable(short_time(record.ts)).ljust(_TIME),
        ]
        if not self._of_one_execution:
            execution = escape_unprintable(getattr(record.event, "execution_id", ""))
            cells.append(execution[:SHORT_ID].ljust(SHORT_ID))
        line = Text(_GAP.join(cells) + _GAP, no_wrap=True, end="")
        verdict = escape_unprintable(row.verdict)
        line.append(verdict, style=row.style)
        line.append(" " * (columns[-1] - cell_len(verdict)) + _GAP)
        fitting, below = _split(row, width - line.cell_len)
        line.append(fitting)
        line.rstrip()
        yield line
        yield Text()  # ends the line
        if below:
            indent = (0, 0, 0, columns[0] + len(_GAP))
            yield Padding(Text(below, overflow="fold"), indent, expand=False)


def _split(row: Row, room: int) -> tuple[str, str]:
    """The text for the first line, and the text below it."""
    what, why = escape_unprintable(row.what), escape_unprintable(row.why)
    whole = f"{what}{_GAP}{why}" if why else what
    if cell_len(whole) <= room:
        return whole, ""
    if cell_len(what) <= room:
        return what, why
    name, bracket, arguments = what.partition("(")
    if bracket and cell_len(name) <= room:
        return name, f"({arguments}{_GAP}{why}"
    return "", whole
