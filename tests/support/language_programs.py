"""Runs user-space programs in this process, with the language layer and no other.

It does what a worker does between start and result: compile, restricted builtins, facades, and an
event loop.
"""

from __future__ import annotations

import builtins
import time
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from caps.worker.inside.aio.loop import Loop
from caps.worker.inside.channel.output import OutputStreams
from caps.worker.inside.facades.facade import make_facade
from caps.worker.inside.language.builtins_ import make_builtins
from caps.worker.inside.language.compiler import Program, compile_source
from caps.worker.inside.language.eval_exec import add_evaluation
from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.stdlib.asyncio_ import AsyncioFacade
from caps.worker.inside.stdlib.importer import Importer


@dataclass(frozen=True, slots=True)
class Ran:
    """The value of a program and its output."""

    value: Any
    printed: str


def run(source: str, names: Mapping[str, Any] | None = None) -> Ran:
    """Compile `source` and run it with `names` as its globals; its errors are raised."""
    return run_program(compile_source(source), names)


def run_program(program: Program, names: Mapping[str, Any] | None = None) -> Ran:
    """Run what is compiled; its errors are raised."""
    printed: list[str] = []
    loop = Loop(_idle)
    user_globals = make_globals(loop, printed, names or {}, program)
    outcome = eval(program.code, user_globals)
    if program.is_coroutine:
        outcome = loop.run(loop.task(outcome))
    value = outcome if program.returns else user_globals.get(program.result_name)
    return Ran(value, "".join(printed))


def make_globals(
    loop: Loop, printed: list[str], names: Mapping[str, Any], program: Program | None = None
) -> dict[str, Any]:
    """The globals that a program starts with."""
    own = OwnClasses()
    programs = {} if program is None else {program.filename: program}
    if program is not None:
        own.add_private_names(program.private_names)
    output = OutputStreams(printed.append)
    extra = {"asyncio": make_facade("asyncio", AsyncioFacade(loop).names())}
    importer = Importer(own, extra, output, programs)
    user_globals = {
        **names,
        "__builtins__": make_builtins(output.stdout, importer, own),
        "__name__": "__main__",
    }
    add_evaluation(user_globals, own)
    return user_globals


def _idle(timeout: float | None) -> None:
    if timeout is None:
        raise AssertionError("the program waits for something that never comes")
    time.sleep(timeout)


_POWERFUL_TYPES = (types.ModuleType, types.FrameType, types.CodeType)
_POWERFUL_CLASSES = (
    types.AsyncGeneratorType,
    types.CellType,
    types.CodeType,
    types.CoroutineType,
    types.FrameType,
    types.FunctionType,
    types.GeneratorType,
    types.MethodType,
    types.ModuleType,
    types.TracebackType,
)
_POWERFUL_BUILTINS = (
    builtins.__build_class__,
    builtins.__import__,
    breakpoint,
    compile,
    delattr,
    dir,
    eval,
    exec,
    getattr,
    globals,
    hasattr,
    input,
    locals,
    open,
    setattr,
    vars,
)


def power_of(value: Any) -> str | None:
    """A name for a value that user space must never get; None if `value` is harmless."""
    if isinstance(value, _POWERFUL_TYPES):
        return f"a {type(value).__name__}"
    if isinstance(value, type) and (issubclass(value, type) or value in _POWERFUL_CLASSES):
        return f"the real class `{value.__name__}`"
    if any(value is one for one in _POWERFUL_BUILTINS):
        return f"the real `{value.__name__}`"
    if isinstance(value, dict) and "__builtins__" in value:
        return "the globals of a function"
    if _walks_attributes(value):
        return "the real `str.format`"
    return None


def _walks_attributes(value: Any) -> bool:
    if getattr(value, "__name__", None) not in ("format", "format_map"):
        return False
    bound = type(value) is types.BuiltinMethodType and isinstance(value.__self__, str)
    return bound or (type(value) is types.MethodDescriptorType and value.__objclass__ is str)
