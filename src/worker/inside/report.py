"""(4) An error of the code, told so that a person or a model can act on it.

Only frames of the user's own file appear; ours are left out. Everything is bounded: a message may
be huge, a `__str__` may raise, a recursion may be a thousand frames deep.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from types import TracebackType
from typing import Any

from caps.protocol.errors import CapsError, ExecutionError, LimitExceededError
from caps.protocol.framing import check_depth
from caps.protocol.messages import ErrorReport, Frame
from caps.worker.inside.compiler import Program, SourceError
from caps.worker.inside.loop import CancelledError

_MAX_CHARACTERS = 8 * 1024
_MAX_FRAMES = 40
_MAX_CHAIN = 8
_MAX_LINE = 500

Position = tuple[int, int | None, int | None]


def describe(
    error: BaseException, program: Program | None, filename: str = "<agent>"
) -> ErrorReport:
    """`error` as it crosses to the host."""
    if isinstance(error, SourceError):
        return _describe_source(error, filename)
    frames = _frames(error, program)
    line, column, end = _position(error, program)
    source_line = _source(program, line) if line is not None else None
    return ErrorReport(
        type=type(error).__name__,
        code=_code(error),
        message=message_of(error),
        line=line,
        column=column,
        end_column=end,
        source_line=source_line,
        traceback=_bounded("".join(_chain_text(error, program))),
        frames=frames,
        details=_details(error),
    )


def message_of(error: BaseException) -> str:
    """The error's own text, bounded; a `__str__` that raises is no way out."""
    try:
        text = str(error)
    except Exception as second:  # noqa: BLE001 - user-defined __str__ may raise anything
        text = f"(its message raised {type(second).__name__})"
    return _bounded(text)


def _bounded(text: str) -> str:
    safe = text.encode("utf-8", "backslashreplace").decode()
    if len(safe) <= _MAX_CHARACTERS:
        return safe
    return safe[:_MAX_CHARACTERS] + f"… ({len(safe)} characters)"


def _code(error: BaseException) -> str:
    if isinstance(error, CapsError):
        return error.code
    if isinstance(error, MemoryError):
        return LimitExceededError.code
    if isinstance(error, CancelledError):
        return "cancelled"
    return ExecutionError.code


def _details(error: BaseException) -> dict[str, Any]:
    if isinstance(error, MemoryError):
        return {"limit": "memory_mb"}
    if not isinstance(error, CapsError):
        return {}
    # User code can raise these classes with details of its own, which may be anything.
    return {str(name)[:64]: _plain_detail(value) for name, value in error.details.items()}


def _plain_detail(value: Any) -> Any:
    if value is None or type(value) in (bool, float):
        return value
    if type(value) is int and -(2**63) <= value < 2**64:
        return value
    if type(value) is list and all(_is_problem(item) for item in value):
        return value[:64]
    return _bounded(value) if type(value) is str else f"<{type(value).__name__}>"


def _is_problem(item: Any) -> bool:
    if type(item) is not dict:
        return False
    check_depth(item, 1)
    return all(type(part) in (str, int) for pair in item.items() for part in pair)


def _describe_source(error: SourceError, filename: str) -> ErrorReport:
    details = error.details
    line = details.get("line")
    column, end = details.get("column"), details.get("end_column")
    source_line = details.get("source_line")
    name = "SyntaxError" if details["kind"] == "syntax" else "SourceError"
    text = [f'  File "{filename}", line {line}\n'] if line else []
    if source_line:
        text += _caret_lines(source_line, column, end)
    text.append(f"{name}: {error.message}\n")
    return ErrorReport(
        type=name,
        code=error.code,
        message=_bounded(error.message),
        line=line,
        column=column,
        end_column=end,
        source_line=_bounded(source_line) if source_line is not None else None,
        traceback=_bounded("".join(text)),
        details={"kind": details["kind"], "problems": details["problems"]},
    )


def _user_steps(
    traceback: TracebackType | None, program: Program | None
) -> Iterator[tuple[str, Position]]:
    """Function and position of every frame that runs the user's code."""
    while traceback is not None and program is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == program.filename:
            yield code.co_name, _frame_position(traceback)
        traceback = traceback.tb_next


def _frame_position(traceback: TracebackType) -> Position:
    positions = traceback.tb_frame.f_code.co_positions()
    found = next(itertools.islice(positions, traceback.tb_lasti // 2, None), None)
    if found is None or found[0] != found[1]:
        return traceback.tb_lineno, None, None
    return traceback.tb_lineno, found[2], found[3]


def _frames(error: BaseException, program: Program | None) -> list[Frame]:
    steps = list(_user_steps(error.__traceback__, program))
    return [
        Frame(line=position[0], function=_shown(name), source=_source(program, position[0]).strip())
        for name, position in steps[-_MAX_FRAMES:]
    ]


def _position(
    error: BaseException, program: Program | None
) -> tuple[int | None, int | None, int | None]:
    steps = list(_user_steps(error.__traceback__, program))
    return steps[-1][1] if steps else (None, None, None)


def _source(program: Program | None, line: int) -> str:
    if program is None or not 0 < line <= len(program.lines):
        return ""
    return program.lines[line - 1][:_MAX_LINE].encode("utf-8", "backslashreplace").decode()


def _shown(function: str) -> str:
    return "<module>" if function == "<module>" else function[:200]


def _chain_text(error: BaseException, program: Program | None) -> Iterator[str]:
    """The traceback as Python prints it, causes first."""
    chain: list[tuple[BaseException, str]] = []
    current: BaseException | None = error
    while current is not None and len(chain) < _MAX_CHAIN:
        cause, context = current.__cause__, current.__context__
        if cause is not None:
            link = "\nThe above exception was the direct cause of the following exception:\n\n"
        else:
            link = "\nDuring handling of the above exception, another exception occurred:\n\n"
        chain.append((current, link))
        current = cause or (None if current.__suppress_context__ else context)
    for index, (one, _) in enumerate(reversed(chain)):
        if index:
            yield chain[len(chain) - 1 - index][1]
        yield from _one_text(one, program)


def _one_text(error: BaseException, program: Program | None) -> Iterator[str]:
    steps = list(_user_steps(error.__traceback__, program))
    if steps:
        yield "Traceback (most recent call last):\n"
    for (name, position), repeated in _folded(steps):
        line, column, end = position
        yield f'  File "{program.filename if program else ""}", line {line}, in {_shown(name)}\n'
        yield from _caret_lines(_source(program, line), column, end)
        if repeated > 1:
            yield f"  [previous line repeated {repeated - 1} more times]\n"
    yield f"{type(error).__name__}: {message_of(error)}\n"
    for note in list(getattr(error, "__notes__", []))[:_MAX_CHAIN]:
        yield f"{str(note)[:_MAX_LINE]}\n"
    if isinstance(error, BaseExceptionGroup):
        for index, member in enumerate(error.exceptions[:_MAX_CHAIN], 1):
            yield f"  [{index}] {type(member).__name__}: {message_of(member)}\n"


def _folded(steps: list[tuple[str, Position]]) -> Iterator[tuple[tuple[str, Position], int]]:
    folded = [(step, len(list(group))) for step, group in itertools.groupby(steps)]
    return iter(folded[-_MAX_FRAMES:])


def _caret_lines(source: str, column: int | None, end: int | None) -> list[str]:
    stripped = source.strip()
    if not stripped:
        return []
    lines = [f"    {stripped}\n"]
    if column is not None:
        # Columns count bytes of UTF-8; carets stand under characters.
        raw = source.encode("utf-8", "backslashreplace")
        lead = len(source) - len(source.lstrip())
        start = len(raw[:column].decode("utf-8", "ignore")) - lead
        stop = len(raw[: column + 1 if end is None else end].decode("utf-8", "ignore")) - lead
        stop = min(stop, len(stripped))
        if start >= 0 and not (start == 0 and stop == len(stripped)):
            lines.append("    " + " " * start + "^" * max(1, stop - start) + "\n")
    return lines
