"""(4) The warm-up: a worker's whole life with harmless code, before a caller waits for it.

Pages that a fork shares with the zygote are copied when they are first written to, and Python
writes to every object that it reads (reference counts). A worker that has warmed up after the fork
has its copies of the pages that almost any code uses: reading a manifest, compiling, printing, a
capability call, a result.

Nothing else remains of it: the warm-up has a channel of its own, without a descriptor, and the
objects of its code are collected.
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
from caps.worker.inside.channel.channel import Channel, python_version
from caps.worker.inside.confinement.rlimits import warm_up_limits
from caps.worker.inside.language.compiler import compile_source, compile_unrestricted, pack, unpack
from caps.worker.inside.runner.run import run
from caps.worker.inside.runner.user_space import UserSpace

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
    "language": "warm-up",
}
_FILENAME = "<warm-up>"
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


class ScriptedHost:
    """Sends the recorded script to one channel, and drops what it writes."""

    def __init__(self, script: list[bytes]) -> None:
        self._script = list(script)

    def poll(self, _timeout_ms: float | None = None) -> bool:
        """Replaces `select.poll`: whether there is something to read."""
        return bool(self._script)

    def read(self, _descriptor: int, _size: int) -> bytes:
        """Replaces `os.read`."""
        return self._script.pop(0)

    def write(self, _descriptor: int, data: memoryview) -> int:
        """Replaces `os.write`."""
        return len(data)


def scripted_channel(script: list[bytes]) -> Channel:
    """A channel without a descriptor. It has the type of every other, and runs the same code: what
    Python specialises for one is of use for the other."""
    channel, host = Channel(0), ScriptedHost(script)
    parts: Any = channel
    parts._poll, parts._read_some, parts._write_some = host, host.read, host.write
    return channel


def record_host_script(source: str = _SOURCE, program: bytes = b"") -> list[bytes]:
    """What the host sends in a warm-up. Runs in the zygote. The code may call `stage.ask` once."""
    host, worker = HostConnection(), Channel(0)
    host.receive(_encode_from_worker(worker, ReadyMessage, **_READY))
    start = host.send(
        ManifestMessage(
            execution_id="warm-up",
            namespace="caps",
            policy_id="warm-up",
            capabilities=[_ENTRY],
            **host.stamp(),
        )
    ) + host.send(
        StartMessage(
            source=source, filename=_FILENAME, limits=_LIMITS, program=program, **host.stamp()
        )
    )
    worker.connection.receive(start)
    host.receive(_encode_from_worker(worker, StartedMessage))
    request = {"request_id": "r1", "capability": _ENTRY.name, "payload": {"question": "who?"}}
    host.receive(_encode_from_worker(worker, CapabilityRequestMessage, **request))
    answer = CapabilityResponseMessage(request_id="r1", result={"text": "I"}, **host.stamp())
    return [start, host.send(answer)]


def _encode_from_worker(worker: Channel, kind: Any, **fields: Any) -> bytes:
    return worker.connection.send(kind(**fields, **worker.connection.stamp()))


class WarmUp:
    """A prepared warm-up. Created in the zygote, so that its children only have to perform it."""

    def __init__(
        self, script: list[bytes], real: Mapping[str, ModuleType], *, restricted: bool
    ) -> None:
        self._channel = scripted_channel(script)
        self._space = UserSpace(self._channel, real, restricted=restricted)
        self._restricted = restricted

    def perform(self) -> None:
        """Go through all steps once. May be called once. Errors are raised: what fails here would
        fail for the user, too."""
        channel, space = self._channel, self._space
        before = set(space.globals)
        space.enter()
        channel.send(ReadyMessage, **_READY)
        manifest = channel.next_message()
        start = channel.next_start()
        assert isinstance(manifest, ManifestMessage)
        compile_code = compile_source if self._restricted else compile_unrestricted
        packed = pack(compile_code(start.source, start.filename))
        program = unpack(packed, start.source, start.filename, restricted=self._restricted)
        warm_up_limits(start.limits)
        channel.send(StartedMessage)
        space.grant(manifest, start.limits)
        fields = run(program, space, channel, start)
        if "error" in fields:
            raise RuntimeError(f"the warm-up failed: {fields['error'].message}")
        channel.send(ResultMessage, **fields)
        channel.flush()
        channel.forget_answers()
        # The space itself stays: to free what it shares with the zygote would copy those pages.
        for name in set(space.globals) - before:
            del space.globals[name]
        space.programs.clear()
        gc.collect()
