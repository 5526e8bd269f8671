"""A worker that had no memory for what arrived: it cannot go on, and its exit code says why."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from caps.protocol.errors import ProtocolError
from caps.protocol.zygote_messages import OUT_OF_MEMORY
from caps.worker.inside.channel.channel import Channel
from caps.worker.inside.runner import serve


class Exited(BaseException):
    """Raised in place of the end of the process."""


def test_a_channel_knows_that_input_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes are gone, so what follows them cannot be parsed."""
    reading, writing = os.pipe()
    try:
        channel = Channel(reading)

        def receive(_data: bytes) -> NoReturn:
            raise MemoryError

        monkeypatch.setattr(channel.connection, "receive", receive)
        os.write(writing, b"the first half of a frame")
        with pytest.raises(MemoryError):
            channel._idle(0)
        assert channel.lost_input
    finally:
        os.close(reading)
        os.close(writing)


@pytest.mark.parametrize(("lost", "code"), [(True, OUT_OF_MEMORY), (False, 2)])
def test_the_exit_code_says_why(monkeypatch: pytest.MonkeyPatch, lost: bool, code: int) -> None:
    """Out of memory is the limit of the policy; anything else is a broken protocol."""
    codes: list[int] = []

    def fail(_template: Any) -> NoReturn:
        raise ProtocolError("the bytes are not a valid message", violation="garbage")

    def leave(with_code: int = 0) -> NoReturn:
        codes.append(with_code)
        raise Exited

    monkeypatch.setattr(serve, "serve", fail)
    monkeypatch.setattr(serve, "exit_worker", leave)
    template: Any = SimpleNamespace(channel=SimpleNamespace(lost_input=lost))
    with pytest.raises(Exited):
        serve.serve_execution(template)
    assert codes == [code]
