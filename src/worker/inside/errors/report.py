"""(4) An error of the code, told so that a person or a model can act on it.

Only frames of the user's own files appear; ours are left out. In a session the files are its cells,
and each frame shows the line of the cell that it was written in. Everything is bounded: a message
may be huge, a recursion may be a thousand frames deep. And nothing of the error's own is trusted: a
`__str__`, a `__bool__` or a property may raise, and text may be a subclass with methods of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, NamedTuple

from caps.protocol.errors import CapsError, ExecutionError, LimitExceededError
from caps.protocol.messages import ErrorReport, Frame
from caps.worker.inside.language.compiler import Program, SourceError, in_characters
from caps.worker.inside.facades.facade import told_of_missing
from caps.worker.inside.errors.hints import hint_for, hint_for_syntax
from caps.worker.inside.aio.loop import CancelledError

_MAX_CHARACTERS = 8 * 1024
_MAX_FRAMES = 40
_MAX_CHAIN = 8
_MAX_LINE = 500
_MAX_NAME = 200
_MAX_DETAILS = 64
_MAX_DETAIL_CHARACTERS = 64 * 1024

Position = tuple[int, int | None, int | None]

# The user's programs by the file name that their frames carry.
Programs = Mapping[str, Program]


class Step(NamedTuple):
    """One frame of the user's own: where it is in which program."""

    program: Program
    function: str
    position: Position


def _codes_below(kind: type[CapsError]) -> dict[type, str]:
    below = [_codes_below(sub) for sub in kind.__subclasses__()]
    return {kind: kind.code, **{sub: code for codes in below for sub, code in codes.items()}}


# Taken before user code runs: it can set `code` on a class as on an instance.
_CODES = _codes_below(CapsError)


def describe(error: BaseException, programs: Programs) -> ErrorReport:
    """`error` of running code as it crosses to the host; `programs` are what has run so far."""
    steps = list(_user_steps(error.__traceback__, programs))
    last = steps[-1] if steps else None
    line, column, end = last.position if last else (None, None, None)
    hint = hint_for(error)
    return ErrorReport(
        type=_type_name(error),
        code=_code(error),
        message=message_of(error),
        filename=last.program.filename if last else None,
        line=line,
        column=column,
        end_column=end,
        source_line=_source(last.program, last.position[0]) if last else None,
        hint=hint,
        traceback=traceback_text(error, programs, hint=hint),
        frames=_frames(steps),
        details=_details(error),
    )


def traceback_text(
    error: BaseException, programs: Programs, *, chain: bool = True, hint: str | None = None
) -> str:
    """The traceback as Python prints it, of the user's own frames; with its causes if `chain`."""
    lines = (_chain_text if chain else _one_text)(error, programs)
    return _bounded("".join([*lines, *_hint_line(hint)]))


def _hint_line(hint: str | None) -> list[str]:
    return [f"hint: {hint}\n"] if hint else []


def message_of(error: BaseException) -> str:
    """The error's own text, bounded; a `__str__` that raises is no way out."""
    if isinstance(error, MemoryError) and not error.args:
        return "out of memory; raise `limits.memory_mb` if it may use more"
    missing = told_of_missing(error)
    return _text_of(error, "its message") if missing is None else _bounded(missing)


def _text_of(value: Any, what: str) -> str:
    try:
        return _bounded(str(value))
    except BaseException as second:  # noqa: BLE001 - user-defined __str__ may raise anything
        return f"({what} raised {_type_name(second)})"


def _type_name(error: BaseException) -> str:
    return _bounded(type(error).__name__)[:_MAX_NAME]


def _bounded(text: str) -> str:
    plain = str.__str__(text)  # a subclass has its own methods
    safe = plain.encode("utf-8", "backslashreplace").decode()
    if len(safe) <= _MAX_CHARACTERS:
        return safe
    return safe[:_MAX_CHARACTERS] + f"… ({len(safe)} characters)"


def _code(error: BaseException) -> str:
    if isinstance(error, CapsError):
        return next(_CODES[kind] for kind in type(error).__mro__ if kind in _CODES)
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
    held = vars(error).get("details")
    if type(held) is not dict:
        return {}
    kept: dict[str, Any] = {}
    room = _MAX_DETAIL_CHARACTERS
    for name, value in itertools.islice(held.items(), _MAX_DETAILS):
        plain = _plain_detail(value)
        room -= len(repr(plain))
        if room < 0:
            break
        kept[_text_of(name, "its name")[:64]] = plain
    return kept


def _plain_detail(value: Any) -> Any:
    if type(value) is list:
        return [_plain_problem(item) for item in value[:_MAX_DETAILS]]
    return _plain_scalar(value)


def _plain_problem(item: Any) -> Any:
    if type(item) is not dict:
        return _plain_scalar(item)
    some = itertools.islice(item.items(), 8)
    return {_text_of(name, "its name")[:64]: _plain_scalar(part) for name, part in some}


def _plain_scalar(value: Any) -> Any:
    if value is None or type(value) is bool or (type(value) is float and math.isfinite(value)):
        return value
    if type(value) is int and -(2**63) <= value < 2**64:
        return value
    if type(value) in (str, float):
        return _bounded(str(value))
    return f"<{_bounded(type(value).__name__)[:_MAX_NAME]}>"


def describe_source(error: SourceError, filename: str) -> ErrorReport:
    """An error of source that cannot run."""
    details = error.details
    line = details.get("line")
    column, end = details.get("column"), details.get("end_column")
    source_line = details.get("source_line")
    name = "SyntaxError" if details["kind"] == "syntax" else "SourceError"
    text = [f'  File "{filename}", line {line}\n'] if line else []
    if source_line:
        text += _caret_lines(source_line[:_MAX_LINE], column, end)
    hint = hint_for_syntax(error.message)
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


def _user_steps(traceback: TracebackType | None, programs: Programs) -> Iterator[Step]:
    """Every frame that runs the user's code."""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        program = programs.get(code.co_filename)
        if program is not None:
            yield Step(program, code.co_name, _frame_position(traceback, program))
        traceback = traceback.tb_next


def _frame_position(traceback: TracebackType, program: Program) -> Position:
    line = traceback.tb_lineno
    positions = traceback.tb_frame.f_code.co_positions()
    found = next(itertools.islice(positions, traceback.tb_lasti // 2, None), None)
    if found is None or found[0] != found[1] or found[2] is None or found[3] is None:
        return line, None, None
    shown = program.lines[line - 1] if 0 < line <= len(program.lines) else ""
    return line, in_characters(shown, found[2]), in_characters(shown, found[3])


def _frames(steps: list[Step]) -> list[Frame]:
    return [
        Frame(
            filename=step.program.filename,
            line=step.position[0],
            function=_shown(step.function),
            source=_source(step.program, step.position[0]).strip(),
        )
        for step in steps[-_MAX_FRAMES:]
    ]


def _source(program: Program, line: int) -> str:
    if not 0 < line <= len(program.lines):
        return ""
    return program.lines[line - 1][:_MAX_LINE]


def _shown(function: str) -> str:
    return function[:_MAX_NAME]


def _chain_text(error: BaseException, programs: Programs) -> Iterator[str]:
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
        yield from _one_text(one, programs)


def _one_text(error: BaseException, programs: Programs) -> Iterator[str]:
    steps = list(_user_steps(error.__traceback__, programs))
    if steps:
        yield "Traceback (most recent call last):\n"
    for (program, function, position), repeated in _folded(steps):
        line, column, end = position
        yield f'  File "{program.filename}", line {line}, in {_shown(function)}\n'
        yield from _caret_lines(_source(program, line), column, end)
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


def _folded(steps: list[Step]) -> Iterator[tuple[Step, int]]:
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
            # A tab stays one, so that the carets stand under what they mean.
            before = "".join("\t" if one == "\t" else " " for one in stripped[:start])
            lines.append("    " + before.ljust(start) + "^" * max(1, stop - start) + "\n")
    return lines
