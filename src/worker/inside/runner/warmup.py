"""(4) A worker's whole life, rehearsed with harmless code before anybody waits for it.

Pages that a fork shares with the zygote are copied when they are first written to, and Python
writes to whatever it looks at. A worker that rehearsed after the fork has its copies of what almost
any code uses: reading a manifest, compiling, printing, a capability call, a result.

Nothing of it is left but that: the rehearsal has a channel of its own, without a descriptor, and
what its code made is collected.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from caps.protocol.connection import HostConnection
from caps.protocol.messages import (
    PROTOCOL_VERSION,
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    ManifestEntry,
    ManifestMessage,
    ReadyMessage,
    ResultMessage,
    StartedMessage,
    StartMessage,
    WorkerLimits,
)
from caps.worker.inside.runner.user_space import UserSpace
from caps.worker.inside.channel.channel import NOTHING, Channel, python_version
from caps.worker.inside.language.compiler import compile_plainly, compile_source, pack, unpack
from caps.worker.inside.confinement.rlimits import rehearse_limits
from caps.worker.inside.runner.run import run

_SOURCE = """\
import json

def greet(name, *rest, mark="!"):
    return f"{name.upper()}{mark}"

async def ask(n):
    found = await caps.stage.ask(question="who?", times=n)
    return found.text

total = 0
for number in range(3):
    total += number
    if number == 2:
        print(greet("nobody"), total)
words = {"a": [1, 2.5], "b": None}
words["c"] = sorted(len(word) for word in words)
try:
    words["d"]
except KeyError as error:
    words["d"] = str(error)
json.loads(json.dumps(words))
{"answer": await ask(1), "words": words, "all": [key for key, value in words.items() if value]}
"""
_READY: dict[str, Any] = {
    "protocol": PROTOCOL_VERSION,
    "python": python_version(),
    "language": "rehearsed",
}
_FILENAME = "<rehearsal>"
_LIMITS = WorkerLimits(cpu_ms=1000, memory_mb=256, concurrency=4)
_ENTRY = ManifestEntry.of(
    name="stage.ask",
    schema_in={
        "type": "object",
        "properties": {
            "question": {"type": "string", "maxLength": 100},
            "times": {"type": "integer", "default": 1},
        },
        "required": ["question"],
        "additionalProperties": False,
    },
    title="Ask",
)


class Stage(Channel):
    """A channel that gets what was written down for it, and whose words go nowhere."""

    def __init__(self, script: list[bytes]) -> None:
        super().__init__(0)
        self._script = list(script)
        self._poll: Any = self

    def poll(self, _timeout_ms: int | None = None) -> bool:
        """In the place of `select.poll`: whether there is something to read."""
        return bool(self._script)

    def _read(self) -> None:
        self._unparsed.append(self._script.pop(0))

    def _write(self) -> None:
        self._unwritten = NOTHING


def write_script() -> list[bytes]:
    """What the host says in a rehearsal. Runs in the zygote, once."""
    host, worker = HostConnection(), Channel(0)
    host.receive(_said(worker, ReadyMessage, **_READY))
    granted = host.send(
        ManifestMessage(
            execution_id="rehearsal",
            namespace="caps",
            policy_id="rehearsal",
            capabilities=[_ENTRY],
            **host.stamp(),
        )
    ) + host.send(StartMessage(source=_SOURCE, filename=_FILENAME, limits=_LIMITS, **host.stamp()))
    worker.connection.receive(granted)
    host.receive(_said(worker, StartedMessage))
    asked = {"request_id": "r1", "capability": _ENTRY.name, "payload": {"question": "who?"}}
    host.receive(_said(worker, CapabilityRequestMessage, **asked))
    answer = CapabilityResponseMessage(request_id="r1", result={"text": "I"}, **host.stamp())
    return [granted, host.send(answer)]


def _said(worker: Channel, kind: Any, **fields: Any) -> bytes:
    return worker.connection.send(kind(**fields, **worker.connection.stamp()))


class Rehearsal:
    """A rehearsal that is ready to begin. Made in the zygote, so that its children only perform."""

    def __init__(
        self, script: list[bytes], real: Mapping[str, ModuleType], *, restricted: bool
    ) -> None:
        self._stage = Stage(script)
        self._space = UserSpace(self._stage, real, restricted=restricted)
        self._restricted = restricted

    def perform(self) -> None:
        """Go once through everything, once; what fails here would fail for the user, so it is
        raised."""
        stage, space = self._stage, self._space
        before = set(space.globals)
        space.enter()
        stage.send(ReadyMessage, **_READY)
        manifest = stage.next_message()
        start = stage.next_start()
        assert isinstance(manifest, ManifestMessage)
        compile_code = compile_source if self._restricted else compile_plainly
        packed = pack(compile_code(start.source, start.filename))
        program = unpack(packed, start.source, start.filename, restricted=self._restricted)
        rehearse_limits(start.limits)
        stage.send(StartedMessage)
        space.grant(manifest, start.limits.concurrency)
        ended = run(program, space, stage)
        if "error" in ended:
            raise RuntimeError(f"the rehearsal failed: {ended['error'].message}")
        stage.send(ResultMessage, **ended)
        stage.flush()
        stage.forget_answers()
        # The space itself stays: giving back what it shares with the zygote would copy that, too.
        for name in set(space.globals) - before:
            del space.globals[name]
        space.programs.clear()
        gc.collect()
