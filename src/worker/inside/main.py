"""(4) A worker's life: shut itself in, take a manifest and code, run it, say how it ended.

In a session it takes the next cell then, in the same user space; else it has served, and leaves.

Forked and locked down by the zygote, with its end of a socket pair as descriptor 0. That is the
only descriptor that it has, and the only one it can ever have.
"""

from __future__ import annotations

import builtins
import gc
import itertools
import math
import os
import reprlib
import resource
import sys
import time
from collections.abc import Callable, Mapping
from types import CoroutineType, MappingProxyType, ModuleType
from typing import Any, NoReturn

from caps.protocol.errors import ProtocolError
from caps.protocol.messages import (
    PROTOCOL_VERSION,
    ManifestMessage,
    ReadyMessage,
    ResultMessage,
    StartedMessage,
    WorkerLimits,
)
from caps.protocol.values import encode_value
from caps.worker.inside.aio.leftovers import turn_once
from caps.worker.inside.builtins_ import make_builtins
from caps.worker.inside.call_check import check_calls
from caps.worker.inside.cells import UserSpace
from caps.worker.inside.channel import Channel, leave, python_version
from caps.worker.inside.compiler import (
    Program,
    SourceError,
    compile_plainly,
    compile_source,
)
from caps.worker.inside.facades import Importer
from caps.worker.inside.guards import OwnClasses
from caps.worker.inside.output import Output
from caps.worker.inside.report import describe, describe_source

CHANNEL = 0
_EXIT_CODE: Any = SystemExit.code
_MAX_RESULT_BYTES = 8 * 1024 * 1024
_MAX_REPR_CHARACTERS = 64 * 1024
_MAX_REPR_DEPTH = 100
_MAX_PARTS = 50_000

RealModules = Mapping[str, ModuleType]
_NO_MODULES: RealModules = MappingProxyType({})


def prime() -> None:
    """Take harmless code once through compiling, running and encoding.

    What that touches is then shared by all forks, and none of them pays for it again.
    """
    program = compile_source("async def f(n):\n    return [n, 'x'.upper()]\nawait f(1)", "<prime>")
    own = OwnClasses()
    user_globals = {"__builtins__": make_builtins(Output().stdout, Importer(own, {}), own)}
    step = builtins.eval(program.code, user_globals)  # noqa: S307 - our own source
    try:
        step.send(None)
    except StopIteration:
        encode_value(user_globals[program.result_name], max_bytes=_MAX_RESULT_BYTES)


def shut_in(keep: int) -> None:
    """Give up what the start-up needed: descriptors, the import system, the command line.

    After this nothing more can be imported, whatever the language layer lets through.
    """
    sys.stdin = sys.stdout = sys.stderr = None
    os.closerange(keep + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    sys.argv = [""]
    sys.path.clear()
    sys.meta_path.clear()
    sys.path_hooks.clear()
    sys.path_importer_cache.clear()
    gc.collect()
    gc.freeze()


def serve_execution(*, restricted: bool, real: RealModules) -> NoReturn:
    """Serve one execution on the channel. Runs in the worker, after confinement."""
    try:
        serve(Channel(CHANNEL), compile_source if restricted else compile_plainly, real)
    except ProtocolError:
        leave(2)
    leave()


def serve(
    channel: Channel,
    compile_code: Callable[[str, str], Program],
    real: RealModules = _NO_MODULES,
) -> None:
    """One execution, or the cells of one session, from ready to the last result."""
    channel.send(ReadyMessage, protocol=PROTOCOL_VERSION, python=python_version())
    channel.flush()
    manifest = channel.next_message()
    if not isinstance(manifest, ManifestMessage):
        raise ProtocolError("a manifest was due", violation="out_of_turn")
    space: UserSpace | None = None
    while True:
        start = channel.next_start()
        limit_resources(start.limits, last=not manifest.session)
        try:
            program = compile_code(start.source, start.filename)
            if start.check:
                check_calls(start.source, program, manifest)
        except SourceError as error:
            channel.send(
                ResultMessage, error=describe_source(error, start.filename), never_ran=True
            )
        else:
            channel.send(StartedMessage)
            channel.flush()
            space = space or UserSpace(
                manifest, channel, start.limits.concurrency, real, restricted=program.restricted
            )
            channel.send(ResultMessage, **run(program, space, channel))
        channel.flush()
        if not manifest.session:
            return


def limit_resources(limits: WorkerLimits, *, last: bool = True) -> None:
    """The kernel's own limits on this process; the host enforces its own beside them."""
    # Whole seconds, counted from the start of the process; SIGXCPU at the first, SIGKILL after it.
    seconds = math.ceil(time.process_time() + limits.cpu_ms / 1000)
    # A hard limit can never be raised again, so that further cells leave it where it is.
    hard = seconds + 1 if last else resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, hard))
    # What is mapped. What is used is counted by the group that the host has put this process in,
    # where there is one; this bound is the lower of the two in practice, and raises MemoryError.
    most = limits.memory_mb * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def run(program: Program, space: UserSpace, channel: Channel) -> dict[str, Any]:
    """Run the program; the fields of its result message."""
    space.begin(program)
    try:
        fields = result_fields(execute(program, space.globals, channel))
    except SystemExit as left:
        fields = (
            result_fields(None)
            if left_in_order(left)
            else {"error": describe(left, space.programs)}
        )
    except BaseException as error:  # noqa: BLE001 - whatever the code raised is its result
        fields = {"error": describe(error, space.programs)}
    space.settle(program)
    return fields


def left_in_order(left: SystemExit) -> bool:
    """Whether it is the ordinary end that `sys.exit()` means: no status, and no message."""
    code = _EXIT_CODE.__get__(left)  # whatever a subclass has under this name
    return code is None or (type(code) is int and code == 0)


def execute(program: Program, user_globals: dict[str, Any], channel: Channel) -> Any:
    """The value of the last expression."""
    outcome = builtins.eval(program.code, user_globals)  # noqa: S307 - the transformed program
    if program.is_coroutine:
        channel.main = channel.loop.task(outcome)
        channel.loop.run(channel.main)
    else:
        turn_once(channel.loop)
    value = user_globals.get(program.result_name)
    if isinstance(value, CoroutineType):
        value.close()
        raise TypeError("the last expression is a coroutine that was never awaited; write `await`")
    return value


def result_fields(value: Any) -> dict[str, Any]:
    """The value as it crosses, or its `repr`, marked as such."""
    try:
        return {"value": encode_value(value, max_bytes=_MAX_RESULT_BYTES)}
    except Exception:  # noqa: BLE001 - values may have methods of the user's own
        return {"value": _repr_bytes(value), "value_is_repr": True}


def _repr_bytes(value: Any) -> bytes:
    try:
        text = repr(value) if _holds_few(value) else BoundedRepr().repr(value)
    except Exception as error:  # noqa: BLE001 - user-defined __repr__ may raise anything
        text = f"<{type(value).__name__} whose repr raised {type(error).__name__}>"
    if len(text) > _MAX_REPR_CHARACTERS:
        text = f"{text[:_MAX_REPR_CHARACTERS]}… ({len(text)} characters, cut)"
    safe = text.encode("utf-8", "backslashreplace").decode()
    return encode_value(safe, max_bytes=_MAX_RESULT_BYTES)


class BoundedRepr(reprlib.Repr):
    """A `repr` that gives up after so many parts: a few objects that hold each other many times
    would unfold into more than the memory holds."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = _MAX_REPR_DEPTH
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = _MAX_PARTS
        self.maxdeque = self.maxarray = _MAX_PARTS
        self.maxstring = self.maxlong = self.maxother = _MAX_REPR_CHARACTERS
        self._left = _MAX_PARTS

    def repr1(self, x: Any, level: int) -> str:
        self._left -= 1
        return super().repr1(x, level) if self._left > 0 else "..."


def _holds_few(value: Any) -> bool:
    """Whether the plain `repr` of a container ends soon, counting every way to each part."""
    waiting, seen = [value], 0
    while waiting and seen <= _MAX_PARTS:
        part = waiting.pop()
        seen += 1
        if type(part) in (list, tuple, set, frozenset):
            waiting.extend(itertools.islice(part, _MAX_PARTS))
        elif type(part) is dict:
            waiting.extend(itertools.islice(part.values(), _MAX_PARTS))
    return seen <= _MAX_PARTS
