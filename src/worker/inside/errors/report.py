"""(4) Describes an error of the code so that a person or a model can act on it.

Only frames of the user's own files appear; ours are left out. In a session the files are its cells,
and each frame shows the line of the cell that it was written in. Everything is bounded: a message
may be huge, a recursion may be a thousand frames deep. The error object itself is not trusted: a
`__str__`, a `__bool__` or a property may raise, and a string may be an instance of a subclass with
methods of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, NamedTuple

from caps.protocol.errors import CapsError, ExecutionError, LimitExceededError
from caps.protocol.messages import ErrorReport, Frame
from caps.worker.inside.aio.loop import CancelledError
from caps.worker.inside.errors.hints import hint_for, hint_for_syntax
from caps.worker.inside.facades.facade import explain_missing
from caps.worker.inside.language.compiler import Program, SourceError, in_characters

_MAX_CHARACTERS = 8 * 1024
_MAX_FRAMES = 40
_MAX_CHAIN = 8
_MAX_LINE = 500
_MAX_NAME = 200
_MAX_DETAILS = 64
_MAX_DETAIL_CHARACTERS = 64 * 1024

Position = tuple[int, int | None, int | None]

# The user's programs by the file name in their frames.
Programs = Mapping[str, Program]


class TracebackFrame(NamedTuple):
    """One frame of user code: its program, its function and its position."""

    program: Program
    function: str
    position: Position


def _codes_below(kind: type[CapsError]) -> dict[type, str]:
    below = [_codes_below(sub) for sub in kind.__subclasses__()]
    return {kind: kind.code, **{sub: code for codes in below for sub, code in codes.items()}}


# Read before user code runs, because it can set `code` on a class or on an instance.
_CODES = _codes_below(CapsError)


def describe(error: BaseException, programs: Programs) -> ErrorReport:
    """The report of a runtime error for the host; `programs` are those that have run so far."""
    try:
        return _describe(error, programs)
    except BaseException as second:  # noqa: BLE001 - user code in the error may raise anything
        message = f"the error cannot be described: {_type_name(second)}"
        return ErrorReport(type=_type_name(error), code=_error_code(error), message=message)


def _describe(error: BaseException, programs: Programs) -> ErrorReport:
    steps = list(_user_steps(error.__traceback__, programs))
    last = steps[-1] if steps else None
    line, column, end = last.position if last else (None, None, None)
    source_line = _source_line(last.program, last.position[0]) if last else None
    hint, message = hint_for(error, source_line or ""), message_of(error)
    is_said = hint is not None and message.endswith(hint)
    return ErrorReport(
        type=_type_name(error),
        code=_error_code(error),
        message=message,
        filename=last.program.filename if last else None,
        line=line,
        column=column,
        end_column=end,
        source_line=source_line,
        hint=hint,
        traceback=traceback_text(error, programs, hint=None if is_said else hint),
        frames=_report_frames(steps),
        details=_details(error),
    )


def traceback_text(
    error: BaseException,
    programs: Programs,
    *,
    chain: bool = True,
    hint: str | None = None,
    limit: int | None = None,
) -> str:
    """The traceback in Python's format, with user frames only; with its causes if `chain`.

    With a `limit` it has that many frames: the first ones, or the last ones if it is negative.
    """
    lines = (_chain_text if chain else _one_text)(error, programs, limit)
    return _bounded("".join([*lines, *_hint_line(hint)]))


def _hint_line(hint: str | None) -> list[str]:
    return [f"hint: {hint}\n"] if hint else []


def message_of(error: BaseException) -> str:
    """The error's message, bounded. A `__str__` that raises is caught."""
    if isinstance(error, MemoryError) and not error.args:
        return "out of memory; raise `limits.memory_mb` if it may use more"
    missing = explain_missing(error)
    return _text_of(error, "its message") if missing is None else _bounded(missing)


def _text_of(value: Any, what: str) -> str:
    try:
        return _bounded(str(value))
    except BaseException as second:  # noqa: BLE001 - user-defined __str__ may raise anything
        return f"({what} raised {_type_name(second)})"


def _type_name(error: BaseException) -> str:
    return _bounded(type(error).__name__)[:_MAX_NAME]


def _bounded(text: str) -> str:
    plain = str.__str__(text)  # a subclass may override methods
    safe = plain.encode("utf-8", "backslashreplace").decode()
    if len(safe) <= _MAX_CHARACTERS:
        return safe
    return safe[:_MAX_CHARACTERS] + f"… ({len(safe)} characters)"


def _error_code(error: BaseException) -> str:
    if isinstance(error, CapsError):
        return next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)
    if _is_out_of_memory(error):
        return _CODES[LimitExceededError]
    if isinstance(error, CancelledError):
        return "cancelled"
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return _CODES[ExecutionError]


def _is_out_of_memory(error: BaseException, depth: int = _MAX_CHAIN) -> bool:
    """Whether it is a MemoryError, or a group with one: several tasks may have failed together."""
    if not isinstance(error, BaseExceptionGroup) or not depth:
        return isinstance(error, MemoryError)
    members = BaseExceptionGroup.exceptions.__get__(error)
    return any(_is_out_of_memory(member, depth - 1) for member in members)


def _details(error: BaseException) -> dict[str, Any]:
    if _is_out_of_memory(error):
        return {"limit": "memory_mb"}
    if not isinstance(error, CapsError):
        return {}
    # User code can raise these classes with details of its own, which may be any objects.
    details = vars(error).get("details")
    if type(details) is not dict:
        return {}
    plain_details: dict[str, Any] = {}
    characters_left = _MAX_DETAIL_CHARACTERS
    # A copy, since a `__str__` or `__repr__` may change the original.
    for name, value in itertools.islice(details.copy().items(), _MAX_DETAILS):
        plain = _plain_detail(value)
        characters_left -= len(repr(plain))
        if characters_left < 0:
            break
        plain_details[_text_of(name, "its name")[:64]] = plain
    return plain_details


def _plain_detail(value: Any) -> Any:
    if type(value) is list:
        return [_plain_item(item) for item in value[:_MAX_DETAILS]]
    return _plain_scalar(value)


def _plain_item(item: Any) -> Any:
    if type(item) is not dict:
        return _plain_scalar(item)
    some = itertools.islice(item.copy().items(), 8)
    return {_text_of(name, "its name")[:64]: _plain_scalar(part) for name, part in some}


def _plain_scalar(value: Any) -> Any:
    if value is None or type(value) is bool or (type(value) is float and math.isfinite(value)):
        return value
    if type(value) is int and -(2**63) <= value < 2**64:
        return value
    if type(value) in (str, float):
        return _bounded(str(value))
    return f"<{_bounded(type(value).__name__)[:_MAX_NAME]}>"


def describe_source(error: SourceError, filename: str, source: str) -> ErrorReport:
    """The report of an error in `source`, which cannot run."""
    details = error.details
    line = details.get("line")
    column, end = details.get("column"), details.get("end_column")
    source_line = details.get("source_line")
    name = "SyntaxError" if details["kind"] == "syntax" else "SourceError"
    text = [f'  File "{filename}", line {line}\n'] if line else []
    if source_line:
        text += _caret_lines(source_line[:_MAX_LINE], column, end)
    hint = hint_for_syntax(error.message, source)
    text.append(f"{name}: {error.message}\n")
    text += [f"  line {one['line']}: {one['message']}\n" for one in details["problems"][1:]]
    text += _hint_line(hint)
    return ErrorReport(
        type=name,
        code=error.code,
        message=_bounded(error.message),
        filename=filename,
        line=line,
        column=column,
        end_column=end,
        source_line=_bounded(source_line) if source_line is not None else None,
        hint=hint,
        traceback=_bounded("".join(text)),
        details={"kind": details["kind"], "problems": details["problems"]},
    )


def _user_steps(traceback: TracebackType | None, programs: Programs) -> Iterator[TracebackFrame]:
    """Every frame that runs user code."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        program = programs.get(code.co_filename)
        if program is not None:
            yield TracebackFrame(program, code.co_name, _frame_position(traceback, program))
        traceback = traceback.tb_next


def frame_summaries(
    traceback: TracebackType | None, programs: Programs
) -> list[tuple[str, int, str, str]]:
    """The user's frames of a traceback: file, line, function and source line."""
    frames = _report_frames(list(_user_steps(traceback, programs)))
    return [(one.filename, one.line, one.function, one.source) for one in frames]


def _frame_position(traceback: TracebackType, program: Program) -> Position:
    line = traceback.tb_lineno
    positions = traceback.tb_frame.f_code.co_positions()
    found = next(itertools.islice(positions, traceback.tb_lasti // 2, None), None)
    if found is None or found[0] != found[1] or found[2] is None or found[3] is None:
        return line, None, None
    shown = program.lines[line - 1] if 0 < line <= len(program.lines) else ""
    return line, in_characters(shown, found[2]), in_characters(shown, found[3])


def _report_frames(steps: list[TracebackFrame]) -> list[Frame]:
    return [
        Frame(
            filename=step.program.filename,
            line=step.position[0],
            function=_function_name(step.function),
            source=_source_line(step.program, step.position[0]).strip(),
        )
        for step in steps[-_MAX_FRAMES:]
    ]


def _source_line(program: Program, line: int) -> str:
    if not 0 < line <= len(program.lines):
        return ""
    return program.lines[line - 1][:_MAX_LINE]


def _function_name(function: str) -> str:
    return function[:_MAX_NAME]


def frame_texts(
    traceback: TracebackType | None, programs: Programs, limit: int | None
) -> list[str]:
    """The user's frames of a traceback, each as text with its source line."""
    steps = _limited(list(_user_steps(traceback, programs)), limit)
    return [_bounded("".join(_step_text(step))) for step in steps[-_MAX_FRAMES:]]


def _limited(steps: list[TracebackFrame], limit: int | None) -> list[TracebackFrame]:
    if limit is None:
        return steps
    return steps[:limit] if limit >= 0 else steps[limit:]


def _step_text(step: TracebackFrame) -> Iterator[str]:
    program, function, (line, column, end) = step
    yield f'  File "{program.filename}", line {line}, in {_function_name(function)}\n'
    yield from _caret_lines(_source_line(program, line), column, end)


def _chain_text(error: BaseException, programs: Programs, limit: int | None) -> Iterator[str]:
    """The traceback as Python prints it, causes first."""
    chain: list[tuple[BaseException, str]] = []
    current: BaseException | None = error
    while current is not None and len(chain) < _MAX_CHAIN:
        cause = current.__cause__
        context = None if current.__suppress_context__ else current.__context__
        if cause is not None:
            link = "\nThe above exception was the direct cause of the following exception:\n\n"
        else:
            link = "\nDuring handling of the above exception, another exception occurred:\n\n"
        chain.append((current, link))
        current = context if cause is None else cause
    for index, (one, _) in enumerate(reversed(chain)):
        if index:
            yield chain[len(chain) - 1 - index][1]
        yield from _one_text(one, programs, limit)


def _one_text(error: BaseException, programs: Programs, limit: int | None) -> Iterator[str]:
    steps = _limited(list(_user_steps(error.__traceback__, programs)), limit)
    if steps:
        yield "Traceback (most recent call last):\n"
    for step, repeated in _fold_repeated(steps):
        yield from _step_text(step)
        if repeated > 1:
            yield f"  [previous line repeated {repeated - 1} more times]\n"
    yield f"{_type_name(error)}: {message_of(error)}\n"
    notes = vars(error).get("__notes__")
    for note in notes[:_MAX_CHAIN] if type(notes) is list else ():
        yield f"{_text_of(note, 'a note')[:_MAX_LINE]}\n"
    if isinstance(error, BaseExceptionGroup):
        members = BaseExceptionGroup.exceptions.__get__(error)
        for index, member in enumerate(members[:_MAX_CHAIN], 1):
            yield f"  [{index}] {_type_name(member)}: {message_of(member)}\n"


def _fold_repeated(steps: list[TracebackFrame]) -> Iterator[tuple[TracebackFrame, int]]:
    folded = [(step, len(list(group))) for step, group in itertools.groupby(steps)]
    return iter(folded[-_MAX_FRAMES:])


def _caret_lines(source: str, column: int | None, end: int | None) -> list[str]:
    stripped = source.strip()
    if not stripped:
        return []
    lines = [f"    {stripped}\n"]
    if column is not None:
        lead = len(source) - len(source.lstrip())
        start = column - lead
        stop = min((column + 1 if end is None else end) - lead, len(stripped))
        if 0 <= start <= len(stripped) and not (start == 0 and stop == len(stripped)):
            # A tab stays a tab, so that the carets are under the right characters.
            before = "".join("\t" if one == "\t" else " " for one in stripped[:start])
            lines.append("    " + before.ljust(start) + "^" * max(1, stop - start) + "\n")
    return lines
