"""(4) User space, which persists from one cell of a session to the next.

One dictionary of globals, one set of own classes, one set of builtins, for as long as the worker
lives. Tasks that a cell leaves running end with it: they are cancelled and may clean up within the
limits of the cell, and an answer that arrives later is dropped. Any other execution is a single
cell.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping
from operator import attrgetter
from types import ModuleType
from typing import Any

from caps.protocol.errors import ProtocolError
from caps.protocol.messages import ManifestMessage, StartMessage, WorkerLimits
from caps.protocol.values import decode_value
from caps.worker.inside.aio.futures import enter
from caps.worker.inside.aio.shutdown import cancel_tasks, report_unretrieved, shutdown
from caps.worker.inside.caps_api.figures import connect_figures
from caps.worker.inside.caps_api.namespace import build_namespace
from caps.worker.inside.channel.channel import Channel
from caps.worker.inside.channel.output import OutputStreams
from caps.worker.inside.errors.package_hints import remember_modules
from caps.worker.inside.facades.alternatives import remember_granted
from caps.worker.inside.facades.facade import make_facade
from caps.worker.inside.language.builtins_ import make_builtins
from caps.worker.inside.language.compiler import Program
from caps.worker.inside.language.eval_exec import add_evaluation
from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.language.known_private_names import is_unused_name
from caps.worker.inside.language.transformer import READ_GUARD
from caps.worker.inside.runner.unhandled import UnhandledErrors
from caps.worker.inside.stdlib.asyncio_ import AsyncioFacade
from caps.worker.inside.stdlib.importer import Importer
from caps.worker.inside.stdlib.warnings_ import take_package_warnings

# How long cancelled tasks may clean up; then the result is sent anyway.
_GRACE_SECONDS = 2.0
_NAME = attrgetter("name")


class UserSpace:
    """The state of the user's code; `programs` are its cells by file name."""

    def __init__(
        self, channel: Channel, real: Mapping[str, ModuleType], *, restricted: bool
    ) -> None:
        """Set up all that does not depend on the grant. Created in the zygote: each of its children
        inherits a user space, and takes it over with `enter`."""
        packages = frozenset(name.partition(".")[0] for name in real)
        remember_modules(packages)
        self._own = own = OwnClasses(packages)
        self._real = real
        self.programs: dict[str, Program] = {}
        self._output = output = OutputStreams(channel.write, channel.flush)
        extra = {"asyncio": make_facade("asyncio", AsyncioFacade(channel.loop).names())}
        self._importer = Importer(own, extra, output, self.programs, real)
        guarded = make_builtins(output.stdout, self._importer, own)
        self.globals: dict[str, Any] = {
            "__builtins__": guarded if restricted else vars(builtins),
            "__name__": "__main__",
            "__doc__": None,
        }
        if restricted:
            add_evaluation(self.globals, own)
        self._channel = channel
        self._session = False
        channel.interrupts.recognise(self.programs, READ_GUARD)
        self._unhandled = UnhandledErrors(channel.note, self.programs)
        channel.loop.set_error_handler(self._unhandled.report_error)

    def enter(self) -> None:
        """Make this the user space of this process, and of those that it forks."""
        enter(self._channel.loop, None)
        # What a library prints is captured, too.
        sys.stdout = self._output.stdout
        self._unhandled.install()
        if self._real:
            take_package_warnings(self._importer.context)

    def grant(self, manifest: ManifestMessage, limits: WorkerLimits) -> None:
        """Add `caps`, once, before the first cell."""
        caps = build_namespace(manifest, self._channel, limits.concurrency, limits.calls)
        self._importer.add_namespace(manifest.namespace, caps)
        remember_granted(manifest.namespace, map(_NAME, manifest.capabilities))
        self.globals[manifest.namespace] = caps
        if self._real:
            connect_figures(self._real, caps, self._channel.loop)
        self._session = manifest.session

    def begin(self, program: Program) -> None:
        """A cell starts: keep its source for tracebacks, and drop the last result.

        Raises ProtocolError for code that was compiled with other libraries loaded.
        """
        if program.unguarded and not all(map(is_unused_name, program.unguarded)):
            raise ProtocolError("code that was not compiled for this worker", violation="malformed")
        if program.private_names:
            self._own.add_private_names(program.private_names)
        self.programs[program.filename] = program
        self.globals.pop(program.result_name, None)

    def give(self, start: StartMessage) -> None:
        """Add the inputs of a cell to its globals, and its arguments to `sys.argv`."""
        if start.inputs:
            self.globals.update(decode_value(start.inputs))
        if start.argv is not None:
            self._importer.context.argv[:] = [start.filename, *start.argv]

    def finish(self, program: Program) -> None:
        """A cell has ended, and its result is not sent yet: end the tasks that it left running, and
        report errors that would be lost silently."""
        try:
            self._end_tasks()
            self._unhandled.close()
        except BaseException as error:  # noqa: BLE001 - it is reported, and the result is kept
            self._channel.note(f"the clean-up at the end failed: {type(error).__name__[:100]}\n")
        if self._session:
            self.globals.pop(program.result_name, None)
            self._channel.forget_answers()

    def _end_tasks(self) -> None:
        loop = self._channel.loop
        if self._session:
            cancel_tasks(loop, _GRACE_SECONDS)
            report_unretrieved(loop)
            return  # a coroutine that is still held may be awaited in a later cell
        shutdown(loop, loop._tasks, seconds=_GRACE_SECONDS)
        report_unretrieved(loop)
        self._unhandled.report_held(self.globals.values())
