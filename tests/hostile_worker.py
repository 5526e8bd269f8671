"""A worker that lies. Started in place of the real one, it speaks the protocol and then breaks it.

`python -I hostile_worker.py ATTACK`, with the channel as descriptor 0, like the real thing.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import msgspec

from caps.protocol.connection import WorkerConnection
from caps.protocol.framing import frame
from caps.protocol.messages import (
    CapabilityRequestMessage,
    CapabilityResponseMessage,
    ManifestMessage,
    OutputMessage,
    ReadyMessage,
    ResultMessage,
    StartedMessage,
    StartMessage,
)
from caps.protocol.values import encode_value

CHANNEL = 0
encoder = msgspec.msgpack.Encoder()


class Liar:
    """An honest handshake, then raw frames of any kind."""

    def __init__(self) -> None:
        self.connection = WorkerConnection()
        self.sent = 0
        self.execution_id = ""
        self.source = ""

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
        self.say(StartedMessage)

    def stamp(self) -> dict[str, Any]:
        self.sent += 1
        return {"id": f"{self.execution_id}:{self.sent}", "timestamp": time.time()}

    def say(self, kind: Any, **fields: Any) -> None:
        self.raw(frame(encoder.encode(kind(**{**self.stamp(), **fields}))))

    def raw(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(CHANNEL, view) :]

    def ask(self, capability: str, payload: dict[str, Any], **fields: Any) -> Any:
        """Send a request and wait for its answer."""
        request_id = fields.pop("request_id", f"r{self.sent}")
        self.say(
            CapabilityRequestMessage,
            request_id=request_id,
            capability=capability,
            payload=payload,
            **fields,
        )
        return self.answer()

    def answer(self) -> CapabilityResponseMessage:
        buffer = b""
        while True:
            data = os.read(CHANNEL, 65536)
            if not data:
                os._exit(0)
            buffer += data
            length = int.from_bytes(buffer[:4], "big")
            if len(buffer) >= 4 + length:
                return msgspec.msgpack.decode(
                    buffer[4 : 4 + length], type=CapabilityResponseMessage
                )

    def finish(self, value: Any) -> None:
        self.say(ResultMessage, value=encode_value(value, max_bytes=1 << 20))

    def wait_for_the_end(self) -> None:
        while os.read(CHANNEL, 65536):
            pass


def outcome(answer: CapabilityResponseMessage) -> str:
    return "ok" if answer.failure is None else answer.failure.code


def main(attack: str) -> None:  # noqa: C901 - one branch for each attack
    liar = Liar()
    if attack == "die_before_ready":
        os._exit(9)
    if attack == "garbage_before_ready":
        liar.raw(b"\xff" * 64)
        liar.wait_for_the_end()
    liar.handshake()
    match attack:
        case "not_granted":
            liar.finish([outcome(liar.ask("files.delete", {"path": "notes.txt"}))])
        case "unknown_capability":
            liar.finish([outcome(liar.ask("shell.exec", {"command": "id"}))])
        case "scope_escape":
            paths = ["../secret.txt", "/etc/passwd", "link/secret.txt", "a/../../secret.txt"]
            liar.finish([outcome(liar.ask("files.read", {"path": path})) for path in paths])
        case "bad_payload":
            liar.finish([outcome(liar.ask("files.read", {"path": 1, "x": 2}))])
        case "foreign_id":
            liar.say(
                CapabilityRequestMessage,
                id=f"{liar.source}:2",
                request_id="r1",
                capability="probe.touch",
                payload={},
            )
        case "replayed_request_id":
            liar.ask("probe.allowed", {}, request_id="r1")
            liar.say(
                CapabilityRequestMessage, request_id="r1", capability="probe.touch", payload={}
            )
        case "replayed_frame":
            fields = {**liar.stamp(), "request_id": "r1", "capability": "probe.allowed"}
            data = frame(encoder.encode(CapabilityRequestMessage(**fields, payload={})))
            liar.raw(data)
            liar.answer()
            liar.raw(data)
        case "oversized_frame":
            liar.raw((1 << 31).to_bytes(4, "big"))
        case "half_a_frame":
            data = frame(
                encoder.encode(
                    CapabilityRequestMessage(
                        **liar.stamp(), request_id="r1", capability="probe.touch", payload={}
                    )
                )
            )
            liar.raw(data[: len(data) // 2])
            os._exit(0)
        case "garbage":
            liar.raw(frame(b"\xc1" * 100))
        case "deep_payload":
            payload: dict[str, Any] = {}
            for _ in range(200):
                payload = {"a": payload}
            liar.say(
                CapabilityRequestMessage,
                request_id="r1",
                capability="probe.touch",
                payload=payload,
            )
        case "out_of_turn":
            liar.say(StartedMessage)
        case "flood":
            for number in range(100_000):
                liar.say(
                    CapabilityRequestMessage,
                    request_id=f"f{number}",
                    capability="probe.touch",
                    payload={},
                )
        case "output_flood":
            for _ in range(100_000):
                liar.say(OutputMessage, text="x" * 4096)
        case "empty_output_flood":
            for _ in range(3_000_000):
                liar.say(OutputMessage, text="")
        case "hang":
            time.sleep(600)
        case "die":
            os._exit(3)
        case "die_by_signal":
            os.kill(os.getpid(), 9)
        case "result_of_garbage":
            liar.say(ResultMessage, value=b"\xc1\xc1")
        case _:
            raise SystemExit(f"no attack `{attack}`")
    liar.wait_for_the_end()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except (BrokenPipeError, ConnectionResetError):
        os._exit(0)
