"""A misbehaving worker. Started instead of the real one, it follows the protocol, then breaks it.

`python -I hostile_worker.py ATTACK WHEN`, with the channel as descriptor 0, like the real thing.
The attack is a file of `channel/`. It runs before the handshake, after it, or when it has sent that
the code has started; it finds everything that is here, and `worker`.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from caps.protocol.connection import WorkerConnection
from caps.protocol.framing import frame
from caps.protocol.messages import (
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    ErrorReport,  # noqa: F401 - for the attacks
    ManifestMessage,
    OutputMessage,  # noqa: F401 - the same
    ReadyMessage,
    ResultMessage,
    StartedMessage,
    StartMessage,
    StreamItemMessage,
    StreamNextMessage,  # noqa: F401 - the same
)
from caps.protocol.values import encode_value

CHANNEL = 0
encoder = msgspec.msgpack.Encoder()


class HostileWorker:
    """An honest handshake, then raw frames of any kind."""

    def __init__(self) -> None:
        self.connection = WorkerConnection()
        self.sent = 0
        self.execution_id = ""
        self.source = ""

    def ready(self, **fields: Any) -> bytes:
        stamped = {"protocol": 1, "python": "3", **self.connection.stamp(), **fields}
        return frame(encoder.encode(ReadyMessage(**stamped)))

    def handshake(self) -> None:
        ready = ReadyMessage(protocol=1, python="3", **self.connection.stamp())
        os.write(CHANNEL, self.connection.send(ready))
        seen: list[Any] = []
        while len(seen) < 2:
            seen += self.connection.receive(os.read(CHANNEL, 65536))
        manifest, start = seen
        assert isinstance(manifest, ManifestMessage)
        assert isinstance(start, StartMessage)
        self.execution_id = manifest.execution_id
        self.source = start.source

    def stamp(self) -> dict[str, Any]:
        self.sent += 1
        return {"id": f"{self.execution_id}:{self.sent}", "timestamp": time.time()}

    def made(self, kind: Any, **fields: Any) -> bytes:
        """The frame of a message."""
        return frame(encoder.encode(kind(**{**self.stamp(), **fields})))

    def say(self, kind: Any, **fields: Any) -> None:
        self.raw(self.made(kind, **fields))

    def raw(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(CHANNEL, view) :]

    def touch(self, **fields: Any) -> bytes:
        """The frame of a request that must never reach its provider."""
        asked = {"request_id": "r1", "capability": "probe.touch", "payload": {}, **fields}
        return self.made(CapabilityRequestMessage, **asked)

    def touch_as_data(self, **fields: Any) -> dict[str, Any]:
        """The same as plain data, for fields that no message class accepts."""
        asked = {"request_id": "r1", "capability": "probe.touch", "payload": {}}
        return {"type": "capability_request", **self.stamp(), **asked, **fields}

    def send_data(self, **fields: Any) -> None:
        self.raw(frame(encoder.encode(self.touch_as_data(**fields))))

    def ask(self, capability: str, payload: dict[str, Any], **fields: Any) -> Any:
        """Send a request and wait for its answer."""
        fields = {"request_id": f"r{self.sent}", **fields}
        self.say(CapabilityRequestMessage, capability=capability, payload=payload, **fields)
        return self.answer()

    def open_stream(self, request_id: str = "s1", **payload: Any) -> None:
        """Open a stream without end, and read its first item."""
        asked = {"capability": "probe.stream", "payload": payload, "request_id": request_id}
        self.say(CapabilityRequestMessage, **asked)
        self.answer(StreamItemMessage)

    def answer(self, kind: Any = CapabilityResponseMessage) -> Any:
        buffer = b""
        while True:
            data = os.read(CHANNEL, 65536)
            if not data:
                os._exit(0)
            buffer += data
            length = int.from_bytes(buffer[:4], "big")
            if len(buffer) >= 4 + length:
                return msgspec.msgpack.decode(buffer[4 : 4 + length], type=kind)

    def result(self, value: Any) -> bytes:
        return self.made(ResultMessage, value=encode_value(value, max_bytes=1 << 20))

    def finish(self, value: Any) -> None:
        self.raw(self.result(value))

    def wait_for_the_end(self) -> None:
        while os.read(CHANNEL, 65536):
            pass


def outcome(answer: CapabilityResponseMessage) -> str:
    return "ok" if answer.failure is None else answer.failure.code


def main(attack: str, when: str) -> None:
    worker = HostileWorker()
    if when != "before_ready":
        worker.handshake()
    if when == "after_start":
        worker.say(StartedMessage)
    exec(compile(Path(attack).read_bytes(), attack, "exec"), {**globals(), "worker": worker})
    worker.wait_for_the_end()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (BrokenPipeError, ConnectionResetError):
        os._exit(0)
