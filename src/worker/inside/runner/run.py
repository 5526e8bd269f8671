"""(4) Runs a program in its user space, and makes the fields of its result message."""

from __future__ import annotations

import builtins
import itertools
import reprlib
from types import CoroutineType
from typing import Any

from caps.protocol.messages import StartMessage
from caps.protocol.values import encode_value
from caps.worker.inside.aio.shutdown import turn_once
from caps.worker.inside.channel.channel import Channel
from caps.worker.inside.confinement.rlimits import use_memory_reserve
from caps.worker.inside.errors.report import describe
from caps.worker.inside.language.compiler import Program
from caps.worker.inside.runner.user_space import UserSpace

_EXIT_CODE: Any = SystemExit.code
_MAX_RESULT_BYTES = 8 * 1024 * 1024
_MAX_REPR_CHARACTERS = 64 * 1024
_MAX_REPR_DEPTH = 100
_MAX_PARTS = 50_000


def run(
    program: Program, space: UserSpace, channel: Channel, start: StartMessage
) -> dict[str, Any]:
    """Run the program with its inputs. Returns the fields of its result message."""
    space.begin(program)
    try:
        space.give(start)
        value = execute(program, space.globals, channel)
        use_memory_reserve()
        fields = result_fields(value)
    except SystemExit as exit_error:
        use_memory_reserve()
        fields = (
            result_fields(None)
            if is_clean_exit(exit_error)
            else {"error": describe(exit_error, space.programs)}
        )
    except BaseException as error:  # noqa: BLE001 - any error of the code is its result
        use_memory_reserve()
        fields = {"error": describe(error, space.programs)}
    space.finish(program)
    return fields


def is_clean_exit(exit_error: SystemExit) -> bool:
    """Whether it is an ordinary end, as with `sys.exit()`: no status, and no message."""
    code = _EXIT_CODE.__get__(exit_error)  # ignores what a subclass defines under this name
    return code is None or (type(code) is int and code == 0)


def execute(program: Program, user_globals: dict[str, Any], channel: Channel) -> Any:
    """Run the program. Returns what it returns, or the value of its last expression."""
    outcome = builtins.eval(program.code, user_globals)  # noqa: S307 - the transformed program
    if program.is_coroutine:
        outcome = channel.loop.run(channel.loop.task(outcome))
    else:
        turn_once(channel.loop)
    value = outcome if program.returns else user_globals.get(program.result_name)
    if isinstance(value, CoroutineType):
        value.close()
        what = "what it returns" if program.returns else "the last expression"
        raise TypeError(f"{what} is a coroutine that was never awaited; write `await`")
    return value


def result_fields(value: Any) -> dict[str, Any]:
    """The encoded value, or its `repr`, marked as such."""
    try:
        return {"value": encode_value(value, max_bytes=_MAX_RESULT_BYTES)}
    except Exception:  # noqa: BLE001 - values may have user-defined methods
        return {"value": _repr_bytes(value), "value_is_repr": True}


def _repr_bytes(value: Any) -> bytes:
    try:
        text = repr(value) if _is_small(value) else BoundedRepr().repr(value)
    except Exception as error:  # noqa: BLE001 - user-defined __repr__ may raise anything
        text = f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    if len(text) > _MAX_REPR_CHARACTERS:
        text = f"{text[:_MAX_REPR_CHARACTERS]}… ({len(text)} characters, cut)"
    safe = text.encode("utf-8", "backslashreplace").decode()
    return encode_value(safe, max_bytes=_MAX_RESULT_BYTES)


class BoundedRepr(reprlib.Repr):
    """A `repr` that stops after a maximum number of parts: a few objects that contain each other
    many times would expand to more text than fits into memory."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = _MAX_REPR_DEPTH
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = _MAX_PARTS
        self.maxdeque = self.maxarray = _MAX_PARTS
        self.maxstring = self.maxlong = self.maxother = _MAX_REPR_CHARACTERS
        self._parts_left = _MAX_PARTS

    def repr1(self, x: Any, level: int) -> str:
        self._parts_left -= 1
        return super().repr1(x, level) if self._parts_left > 0 else "..."


def _is_small(value: Any) -> bool:
    """Whether the plain `repr` of a container is small; a part counts each time it is reached."""
    waiting, seen = [value], 0
    while waiting and seen <= _MAX_PARTS:
        part = waiting.pop()
        seen += 1
        if type(part) in (list, tuple, set, frozenset):
            waiting.extend(itertools.islice(part, _MAX_PARTS))
        elif type(part) is dict:
            waiting.extend(itertools.islice(part.values(), _MAX_PARTS))
    return seen <= _MAX_PARTS
