"""(4) User space as it lives on from one cell of a session to the next.

One dictionary of globals, one set of own classes, one set of builtins, for as long as the worker
lives. What a cell leaves running ends with it: its tasks are cancelled and may clean up within its
own limits, and an answer that comes later finds nobody. Any other execution is a single cell.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from caps.protocol.errors import ProtocolError
from caps.protocol.messages import ManifestMessage
from caps.worker.inside.aio.futures import enter
from caps.worker.inside.aio.shutdown import end_all, tell_unretrieved, wind_up
from caps.worker.inside.language.builtins_ import make_builtins
from caps.worker.inside.channel.channel import Channel
from caps.worker.inside.language.compiler import Program
from caps.worker.inside.runner.unhandled import Complaints
from caps.worker.inside.stdlib.asyncio_ import Concurrency
from caps.worker.inside.language.eval_exec import add_evaluation
from caps.worker.inside.facades.facade import make_facade
from caps.worker.inside.stdlib.importer import Importer
from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.language.known_private_names import is_nobodys
from caps.worker.inside.caps_api.namespace import build_namespace
from caps.worker.inside.channel.output import Output

# How long cancelled tasks may clean up; then the result goes out all the same.
_GRACE_SECONDS = 2.0


class UserSpace:
    """What the user's code finds and leaves behind; `programs` are its cells by file name."""

    def __init__(
        self, channel: Channel, real: Mapping[str, ModuleType], *, restricted: bool
    ) -> None:
        """All that is the same whatever is granted. Made in the zygote: each of its children is
        born with a user space, and makes it its own with `enter`."""
        self._own = own = OwnClasses()
        self.programs: dict[str, Program] = {}
        self._output = output = Output(channel.write, channel.flush)
        extra = {"asyncio": make_facade("asyncio", Concurrency(channel.loop).names())}
        self._importer = Importer(own, extra, output, self.programs, real)
        guarded = make_builtins(output.stdout, self._importer, own)
        self.globals: dict[str, Any] = {
            "__builtins__": guarded if restricted else vars(builtins),
            "__name__": "__main__",
        }
        if restricted:
            add_evaluation(self.globals, own)
        self._channel = channel
        self._session = False
        self._complaints = Complaints(channel.note, self.programs)
        channel.loop.listen(self._complaints.lost)

    def enter(self) -> None:
        """From now on this is the user space of this process."""
        enter(self._channel.loop, None)
        sys.stdout = self._output.stdout  # what a library prints is captured, too
        self._complaints.listen()

    def grant(self, manifest: ManifestMessage, concurrency: int) -> None:
        """Put `caps` in, once, before the first cell."""
        caps = build_namespace(manifest, self._channel, concurrency)
        self._importer.offer(manifest.namespace, caps)
        self.globals[manifest.namespace] = caps
        self._session = manifest.session

    def begin(self, program: Program) -> None:
        """A cell starts: its source is kept for tracebacks, the last result is not.

        Raises ProtocolError for code that was compiled beside other libraries.
        """
        if not all(map(is_nobodys, program.unguarded)):
            raise ProtocolError("code that was not compiled for this worker", violation="malformed")
        self._own.will_meet(program.private_names)
        self.programs[program.filename] = program
        self.globals.pop(program.result_name, None)

    def settle(self, program: Program) -> None:
        """A cell is over, its result not yet sent: end what it left running, and tell what would
        be lost without a word."""
        try:
            self._end_tasks()
            self._complaints.close()
        except BaseException as error:  # noqa: BLE001 - it is told, and the result stays what it is
            self._channel.note(f"the clean-up at the end failed: {type(error).__name__[:100]}\n")
        if self._session:
            self.globals.pop(program.result_name, None)
            self._channel.forget_answers()

    def _end_tasks(self) -> None:
        loop = self._channel.loop
        if self._session:
            wind_up(loop, _GRACE_SECONDS)
            tell_unretrieved(loop)
            return  # a coroutine that is held may be awaited in a later cell
        end_all(loop, loop._tasks, seconds=_GRACE_SECONDS)
        tell_unretrieved(loop)
        self._complaints.held(self.globals.values())
