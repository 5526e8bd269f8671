"""A worker that lies. Started in place of the real one, it speaks the protocol and then breaks it.

`python -I hostile_worker.py ATTACK`, with the channel as descriptor 0, like the real thing. Every
attack is a function of its name; those marked `before_ready` come before the handshake.
"""

from __future__ import annotations

import math
import os
import signal
import socket
import struct
import sys
import time
from array import array
from collections.abc import Callable
from typing import Any

import msgspec

from caps.protocol.connection import WorkerConnection
from caps.protocol.framing import frame
from caps.protocol.messages import (
    CancelMessage,
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
        """The same as plain data, for what no message class would take."""
        asked = {"request_id": "r1", "capability": "probe.touch", "payload": {}}
        return {"type": "capability_request", **self.stamp(), **asked, **fields}

    def ask(self, capability: str, payload: dict[str, Any], **fields: Any) -> Any:
        """Send a request and wait for its answer."""
        fields = {"request_id": f"r{self.sent}", **fields}
        self.say(CapabilityRequestMessage, capability=capability, payload=payload, **fields)
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

    def result(self, value: Any) -> bytes:
        return self.made(ResultMessage, value=encode_value(value, max_bytes=1 << 20))

    def finish(self, value: Any) -> None:
        self.raw(self.result(value))

    def wait_for_the_end(self) -> None:
        while os.read(CHANNEL, 65536):
            pass


Lie = Callable[[Liar], None]
BEFORE_READY: dict[str, Lie] = {}
BEFORE_START: dict[str, Lie] = {}
AFTER_START: dict[str, Lie] = {}


def before_ready(lie: Lie) -> Lie:
    BEFORE_READY[lie.__name__] = lie
    return lie


def before_start(lie: Lie) -> Lie:
    """Told after the handshake, in place of the message that the code has started."""
    BEFORE_START[lie.__name__] = lie
    return lie


def after_start(lie: Lie) -> Lie:
    AFTER_START[lie.__name__] = lie
    return lie


def outcome(answer: CapabilityResponseMessage) -> str:
    return "ok" if answer.failure is None else answer.failure.code


# Forged requests: well-formed, for what is not granted.


@after_start
def not_granted(liar: Liar) -> None:
    liar.finish([outcome(liar.ask("files.delete", {"path": "notes.txt"}))])


@after_start
def unknown_capability(liar: Liar) -> None:
    liar.finish([outcome(liar.ask("shell.exec", {"command": "id"}))])


@after_start
def scope_escape(liar: Liar) -> None:
    paths = ["../secret.txt", "/etc/passwd", "link/secret.txt", "a/../../secret.txt"]
    liar.finish([outcome(liar.ask("files.read", {"path": path})) for path in paths])


@after_start
def bad_payload(liar: Liar) -> None:
    liar.finish([outcome(liar.ask("files.read", {"path": 1, "x": 2}))])


@after_start
def named_twice(liar: Liar) -> None:
    """One map that names two capabilities: whoever reads it twice may see two of them."""
    fields = liar.touch_as_data(capability="probe.allowed")
    body = encoder.encode(fields)
    twice = bytes([body[0] + 1]) + body[1:] + encoder.encode("capability")
    liar.raw(frame(twice + encoder.encode("probe.touch")))
    liar.finish([outcome(liar.answer())])


# Forged and replayed frames.


@after_start
def foreign_id(liar: Liar) -> None:
    liar.raw(liar.touch(id=f"{liar.source}:2"))


@after_start
def skipped_id(liar: Liar) -> None:
    liar.stamp()
    liar.raw(liar.touch())


@after_start
def reordered_frames(liar: Liar) -> None:
    first, second = liar.touch(request_id="r1"), liar.touch(request_id="r2")
    liar.raw(second + first)


@after_start
def replayed_request_id(liar: Liar) -> None:
    liar.ask("probe.allowed", {}, request_id="r1")
    liar.raw(liar.touch(request_id="r1"))


@after_start
def replayed_frame(liar: Liar) -> None:
    data = liar.touch(capability="probe.allowed")
    liar.raw(data)
    liar.answer()
    liar.raw(data)


@after_start
def forged_answer(liar: Liar) -> None:
    liar.say(CapabilityResponseMessage, request_id="r1", result="granted")


@after_start
def forged_manifest(liar: Liar) -> None:
    liar.say(ManifestMessage, execution_id="x", namespace="caps", policy_id="x", capabilities=[])


@after_start
def forged_cancel(liar: Liar) -> None:
    liar.say(CancelMessage, reason="because")


# Out of turn.


@before_ready
def die_before_ready(_liar: Liar) -> None:
    os._exit(9)


@before_ready
def garbage_before_ready(liar: Liar) -> None:
    liar.raw(b"\xff" * 64)


@before_ready
def started_before_ready(liar: Liar) -> None:
    liar.say(StartedMessage)


@before_ready
def ready_twice(liar: Liar) -> None:
    liar.raw(liar.ready() * 2)


@before_ready
def other_version(liar: Liar) -> None:
    liar.raw(liar.ready(protocol=99))


@before_start
def request_before_start(liar: Liar) -> None:
    liar.raw(liar.touch())


@before_start
def result_without_start(liar: Liar) -> None:
    liar.finish("never started, and yet")


@after_start
def out_of_turn(liar: Liar) -> None:
    liar.say(StartedMessage)


@after_start
def ready_again(liar: Liar) -> None:
    liar.raw(liar.ready())


@after_start
def result_that_never_ran(liar: Liar) -> None:
    liar.say(ResultMessage, never_ran=True)


@after_start
def request_after_result(liar: Liar) -> None:
    liar.raw(liar.result(1) + liar.touch())


@after_start
def request_before_a_lie(liar: Liar) -> None:
    liar.raw(liar.touch(capability="probe.touch") + frame(b"\xc1"))


@after_start
def two_results(liar: Liar) -> None:
    liar.raw(liar.result(1) + liar.result(2))


# Frames that are too large, cut, mixed or senseless.


@after_start
def oversized_frame(liar: Liar) -> None:
    liar.raw((1 << 31).to_bytes(4, "big"))


@after_start
def just_oversized_frame(liar: Liar) -> None:
    liar.raw((16 * 1024 * 1024 + 1).to_bytes(4, "big"))


@after_start
def half_a_frame(liar: Liar) -> None:
    data = liar.touch()
    liar.raw(data[: len(data) // 2])
    os._exit(0)


@after_start
def half_a_length(liar: Liar) -> None:
    liar.raw(liar.touch()[:3])
    os._exit(0)


@after_start
def interleaved_frames(liar: Liar) -> None:
    """As if two threads wrote at once: the second frame in the midst of the first one."""
    first, second = liar.touch(request_id="r1"), liar.touch(request_id="r2")
    liar.raw(first[:40] + second + first[40:])


@after_start
def empty_frame(liar: Liar) -> None:
    liar.raw(frame(b""))


@after_start
def frame_with_a_tail(liar: Liar) -> None:
    liar.raw(frame(liar.touch()[4:] + b"\xc0"))


@after_start
def frame_that_ends_early(liar: Liar) -> None:
    liar.raw(frame(liar.touch()[4:-1]))


@after_start
def garbage(liar: Liar) -> None:
    liar.raw(frame(b"\xc1" * 100))


@after_start
def pickled(liar: Liar) -> None:
    """What a careless host would load, and be taken over by."""
    liar.raw(frame(b"cos\nsystem\n(S'exit 1'\ntR."))


@after_start
def result_of_garbage(liar: Liar) -> None:
    liar.say(ResultMessage, value=b"\xc1\xc1")


# Well-formed data that is no message of ours.


def send_data(liar: Liar, **fields: Any) -> None:
    liar.raw(frame(encoder.encode(liar.touch_as_data(**fields))))


@after_start
def unknown_type(liar: Liar) -> None:
    send_data(liar, type="eval")


@after_start
def no_type(liar: Liar) -> None:
    liar.raw(frame(encoder.encode({})))


@after_start
def unknown_field(liar: Liar) -> None:
    send_data(liar, principal="root")


@after_start
def field_of_a_wrong_type(liar: Liar) -> None:
    send_data(liar, capability=["probe.touch"])


@after_start
def endless_name(liar: Liar) -> None:
    send_data(liar, capability="probe." + "x" * 100_000)


@after_start
def endless_request_id(liar: Liar) -> None:
    send_data(liar, request_id="r" * 100_000)


@after_start
def timestamp_that_is_no_number(liar: Liar) -> None:
    send_data(liar, timestamp=math.nan)


@after_start
def timeout_without_end(liar: Liar) -> None:
    send_data(liar, timeout_ms=1 << 62)


@after_start
def name_that_is_no_text(liar: Liar) -> None:
    body = encoder.encode(liar.touch_as_data())
    liar.raw(frame(body.replace(b"probe.touch", b"probe.\xff\xfe\xfd\xfc\xfb")))


@after_start
def payload_with_bytes(liar: Liar) -> None:
    send_data(liar, payload={"a": b"\0"})


@after_start
def payload_with_infinity(liar: Liar) -> None:
    send_data(liar, payload={"a": [math.inf]})


@after_start
def payload_with_extension(liar: Liar) -> None:
    send_data(liar, payload={"a": msgspec.msgpack.Ext(7, b"x")})


@after_start
def payload_with_other_keys(liar: Liar) -> None:
    send_data(liar, payload={"a": {1: 2}})


@after_start
def payload_of_many_items(liar: Liar) -> None:
    send_data(liar, payload={"a": [0] * 200_000})


@after_start
def payload_that_claims_many_items(liar: Liar) -> None:
    body = encoder.encode(liar.touch_as_data())
    assert body.endswith(b"\x80")
    liar.raw(frame(body[:-1] + b"\xdf\xff\xff\xff\xff"))


@after_start
def deep_payload(liar: Liar) -> None:
    payload: dict[str, Any] = {}
    for _ in range(200):
        payload = {"a": payload}
    send_data(liar, payload=payload)


@after_start
def bottomless_payload(liar: Liar) -> None:
    """Deep enough to overflow the stack of whoever decodes it by recursion."""
    body = encoder.encode(liar.touch_as_data())
    liar.raw(frame(body[:-1] + b"\x81\xa1a" + b"\x91" * 50_000))


# Floods.


@after_start
def flood(liar: Liar) -> None:
    for number in range(100_000):
        liar.raw(liar.touch(request_id=f"f{number}"))


@after_start
def output_flood(liar: Liar) -> None:
    for _ in range(100_000):
        liar.say(OutputMessage, text="x" * 4096)


@after_start
def empty_output_flood(liar: Liar) -> None:
    for _ in range(3_000_000):
        liar.say(OutputMessage, text="")


# Slow ones, and those who fall silent.


@after_start
def byte_by_byte(liar: Liar) -> None:
    """Honest, and as slow as can be: every byte is a packet of its own."""
    for byte in liar.touch(capability="probe.allowed"):
        liar.raw(bytes([byte]))
        time.sleep(0.001)
    said = outcome(liar.answer())
    for byte in liar.result([said]):
        liar.raw(bytes([byte]))
        time.sleep(0.001)


@after_start
def stalled_frame(liar: Liar) -> None:
    liar.raw(liar.touch()[:-1])


@after_start
def stalled_length(liar: Liar) -> None:
    liar.raw(b"\0\0")


@after_start
def stalled_large_frame(liar: Liar) -> None:
    """The largest frame that there may be, but for its last byte."""
    largest = 16 * 1024 * 1024
    liar.raw(struct.pack(">I", largest) + b"\x90" * (largest - 1))


@after_start
def trickle(liar: Liar) -> None:
    """A byte now and then, for ever: life signs do not prolong it."""
    liar.raw(struct.pack(">I", 1 << 20))
    while True:
        liar.raw(b"\x90")
        time.sleep(0.01)


@after_start
def never_reading(liar: Liar) -> None:
    """Asks for much and takes nothing, until the channel is full."""
    for number in range(15):
        payload = {"path": "large.txt"}
        asked = {"request_id": f"r{number}", "capability": "files.read", "payload": payload}
        liar.say(CapabilityRequestMessage, **asked)
    signal.pause()


@after_start
def hang(_liar: Liar) -> None:
    signal.pause()


# Endings.


@after_start
def die(_liar: Liar) -> None:
    os._exit(3)


@after_start
def die_by_signal(_liar: Liar) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@after_start
def half_closed(_liar: Liar) -> None:
    """Says no more, but stays and listens."""
    with socket.socket(fileno=os.dup(CHANNEL)) as channel:
        channel.shutdown(socket.SHUT_WR)


@after_start
def stay_after_result(liar: Liar) -> None:
    """Done, and will not leave, whatever it is asked."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    liar.finish("done")
    while True:
        signal.pause()


@after_start
def pass_descriptors(liar: Liar) -> None:
    """Every byte of the result brings descriptors along, for the host to hold."""
    passed = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", [CHANNEL] * 16))
    with socket.socket(fileno=os.dup(CHANNEL)) as channel:
        for byte in liar.result("passed"):
            channel.sendmsg([bytes([byte])], [passed])


@after_start
def urgent_byte(liar: Liar) -> None:
    """A byte out of band between two frames; a real worker's filter refuses to send one."""
    with socket.socket(fileno=os.dup(CHANNEL)) as channel:
        liar.say(OutputMessage, text="before")
        channel.send(b"!", socket.MSG_OOB)
        liar.finish("after")


# In a session: an honest first cell, then a lie.


@after_start
def request_before_the_second_cell_starts(liar: Liar) -> None:
    liar.finish("first")
    os.read(CHANNEL, 65536)
    liar.raw(liar.touch(capability="probe.allowed"))


@after_start
def the_first_result_again(liar: Liar) -> None:
    """A replay of what was true of another cell."""
    result = liar.result("first")
    liar.raw(result)
    os.read(CHANNEL, 65536)
    liar.say(StartedMessage)
    liar.raw(result)


@after_start
def foreign_session_id(liar: Liar) -> None:
    """Another channel's name in the second cell."""
    liar.finish("first")
    os.read(CHANNEL, 65536)
    liar.execution_id = "0" * 32
    liar.say(StartedMessage)


def main(attack: str) -> None:
    liar = Liar()
    if attack in BEFORE_READY:
        BEFORE_READY[attack](liar)
    else:
        liar.handshake()
        if attack in BEFORE_START:
            BEFORE_START[attack](liar)
        else:
            liar.say(StartedMessage)
            AFTER_START[attack](liar)
    liar.wait_for_the_end()


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except (BrokenPipeError, ConnectionResetError):
        os._exit(0)
