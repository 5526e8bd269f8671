"""Functions that stream to the code, on real workers: item by item, bounded, closed, recorded."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from typing_extensions import TypedDict

from caps import CallContext, CapabilityRegistry, MemoryAuditLog, RegistrationError, Runtime
from caps.capabilities.broker import streams
from caps.capabilities.spec import CapabilitySpec
from caps.security.audit import DecisionMade, OutcomeRecorded

pytestmark = pytest.mark.anyio

POLICY = {
    "id": "reader",
    "allow": ["logs.*", "net.*"],
    "limits": {"concurrency": 4, "wall_ms": 20_000},
    "flows": [{"id": "no-leak", "after": ["private"], "deny": ["egress"]}],
}


class Line(TypedDict):
    at: dt.date
    text: str


class LostError(Exception):
    """The file is gone."""


class Scene:
    """Streams that note how far they were read, and when they were closed."""

    def __init__(self) -> None:
        self.audit = MemoryAuditLog()
        self.seen: list[Any] = []
        self.waiting = anyio.Event()
        self.registry = registry = CapabilityRegistry()
        registry.capability("logs.tail", labels=("private",), raises=(LostError,))(self.tail)
        registry.capability("logs.wait")(self.wait)
        registry.capability("logs.large")(self.large)
        registry.capability("logs.wrong")(self.wrong)
        registry.capability("logs.one")(self.one)
        registry.capability("net.send", egress=True)(self.send)
        self.runtime = Runtime(POLICY, registry=registry, audit=self.audit)

    async def tail(self, count: int, lost: bool = False) -> AsyncIterator[Line]:
        """The lines of a log."""
        try:
            for number in range(count):
                self.seen.append(number)
                await anyio.lowlevel.checkpoint()
                yield {"at": dt.date(2026, 1, 1 + number), "text": f"line {number}"}
            if lost:
                raise LostError("rotated")
        finally:
            self.seen.append("closed")

    async def wait(self, context: CallContext) -> AsyncIterator[int]:
        try:
            yield 1
            self.waiting.set()
            await anyio.sleep_forever()
        finally:
            self.seen.append("closed")

    async def large(self, count: int) -> AsyncIterator[str]:
        for number in range(count):
            self.seen.append(number)
            yield "x" * 1_000_000

    async def wrong(self) -> AsyncIterator[int]:
        yield 1
        yield "two"  # type: ignore[misc] # what it is about

    async def one(self) -> int:
        return 1

    async def send(self, text: str) -> None:
        self.seen.append(text)

    async def value(self, source: str) -> Any:
        result = await self.runtime.run(source)
        assert result.error is None, result.error
        return result.value

    def outcomes(self, capability: str) -> list[tuple[str, int | None, int]]:
        return [
            (event.status.value, event.items, event.bytes_out)
            for event in self.audit.events
            if isinstance(event, OutcomeRecorded) and event.capability == capability
        ]


@pytest.fixture
async def scene() -> AsyncIterator[Scene]:
    opened = Scene()
    async with opened.runtime:
        yield opened


async def test_items_arrive_one_by_one_with_their_types(scene: Scene) -> None:
    """As results do; the log has one decision before and one outcome after, with the counts."""
    source = "[(line.at, line.text) async for line in caps.logs.tail(count=2)]"
    assert await scene.value(source) == [
        (dt.date(2026, 1, 1), "line 0"),
        (dt.date(2026, 1, 2), "line 1"),
    ]
    kinds = [type(event) for event in scene.audit.events if hasattr(event, "request_id")]
    assert kinds == [DecisionMade, OutcomeRecorded]
    ((status, items, size),) = scene.outcomes("logs.tail")
    assert (status, items) == ("ok", 2)
    assert size > 40


async def test_a_slow_reader_holds_the_provider(scene: Scene) -> None:
    """The provider is asked for an item when the code is, and never for more."""
    source = """
lines = caps.logs.tail(count=20)
first = await anext(lines)
for _ in range(3):
    await caps.logs.one()
await lines.aclose()
"""
    await scene.value(source)
    assert scene.seen == [0, "closed"]
    assert scene.outcomes("logs.tail")[0][:2] == ("ok", 1)


@pytest.mark.parametrize(
    "leave",
    [
        "async for line in caps.logs.tail(count=20):\n    if line.text == 'line 1': break",
        "async def f():\n    async for line in caps.logs.tail(count=20): return\nawait f()",
        "async def f():\n    async for line in caps.logs.tail(count=20): 1 / 0\n"
        "try: await f()\nexcept ZeroDivisionError: pass",
    ],
)
async def test_leaving_early_closes_the_generator_of_the_provider(scene: Scene, leave: str) -> None:
    """While the program goes on; the call ends well, since nobody wanted more."""
    await scene.value(f"{leave}\nfor _ in range(3): await caps.logs.one()")
    assert scene.seen[-1] == "closed"
    assert len(scene.seen) <= 3
    assert scene.outcomes("logs.tail")[0][0] == "ok"


async def test_a_cancelled_reader_ends_a_provider_that_waits(scene: Scene) -> None:
    """Also in the middle of an item."""
    source = """
import asyncio
async def read():
    async for number in caps.logs.wait(): pass
try:
    await asyncio.wait_for(read(), 0.1)
except TimeoutError:
    ended = True
while not (await caps.logs.one() and await caps.logs.one()): pass
await asyncio.sleep(0.05)
ended
"""
    assert await scene.value(source) is True
    assert scene.seen == ["closed"]
    assert scene.outcomes("logs.wait")[0][:2] == ("ok", 1)


async def test_a_program_that_ends_with_an_open_stream_cancels_it(scene: Scene) -> None:
    """Its outcome is recorded, with what was sent."""
    await scene.runtime.run("lines = caps.logs.tail(count=9)\nawait anext(lines)\nexit()")
    assert scene.seen[-1] == "closed"
    ((status, items, _),) = scene.outcomes("logs.tail")
    assert (status in ("ok", "cancelled"), items) == (True, 1)


async def test_an_error_comes_after_the_items_before_it(scene: Scene) -> None:
    """With its text, if it is one of those that the function names."""
    source = """
texts = []
try:
    async for line in caps.logs.tail(count=2, lost=True):
        texts.append(line.text)
except ProviderError as error:
    texts.append((error.error, str(error)))
texts
"""
    assert await scene.value(source) == ["line 0", "line 1", ("LostError", "LostError: rotated")]
    assert scene.outcomes("logs.tail")[0][:2] == ("provider_error", 2)


async def test_an_item_that_does_not_fit_ends_the_stream(scene: Scene) -> None:
    """It is not sent; what came before it was."""
    source = """
found = []
try:
    async for number in caps.logs.wrong(): found.append(number)
except ProviderError as error:
    found.append("does not fit" in str(error))
found
"""
    assert await scene.value(source) == [1, True]
    assert scene.outcomes("logs.wrong")[0][:2] == ("invalid_output", 1)


async def test_the_timeout_is_for_each_item(scene: Scene) -> None:
    """A provider that takes longer is stopped; the time of the reader does not count."""
    source = """
import time
found = []
try:
    async for number in caps.logs.wait.options(timeout_ms=300)():
        found.append(number)
        time.sleep(0.4)
except CapabilityTimeoutError as error:
    found.append(error.timeout_ms)
found
"""
    assert await scene.value(source) == [1, 300]
    assert scene.outcomes("logs.wait")[0][:2] == ("timeout", 1)
    assert scene.seen == ["closed"]


async def test_the_channel_is_marked_before_the_first_item(scene: Scene) -> None:
    """So a flow rule sees it, although the stream is still open."""
    source = """
await caps.net.send(text="before")
lines = caps.logs.tail(count=2)
await anext(lines)
try:
    await caps.net.send(text="after")
except PolicyDeniedError as error:
    reason = error.reason
reason
"""
    assert await scene.value(source) == "flow_denied"
    assert "after" not in scene.seen


async def test_a_revocation_ends_an_open_stream(scene: Scene) -> None:
    """Also while the provider waits; the code gets the error at its next item."""
    source = """
found = []
try:
    async for number in caps.logs.wait(): found.append(number)
except PolicyDeniedError as error:
    found.append(error.reason)
found
"""
    results: list[Any] = []
    ids: list[str] = []

    async def run() -> None:
        async for event in scene.runtime.stream(source):
            if hasattr(event, "execution_id"):
                ids.append(event.execution_id)
            if hasattr(event, "result"):
                results.append(event.result)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await scene.waiting.wait()
        await scene.runtime.revoke(ids[0], "logs.wait")
    assert results[0].value == [1, "revoked"]
    assert scene.outcomes("logs.wait")[0][:2] == ("cancelled", 1)


async def test_many_large_items_take_the_memory_of_one(scene: Scene) -> None:
    """Far more than the host would hold at once."""
    source = "total = 0\nasync for text in caps.logs.large(count=60): total += len(text)\ntotal"
    assert await scene.value(source) == 60_000_000
    assert scene.outcomes("logs.large")[0][:2] == ("ok", 60)


async def test_open_streams_count_as_calls_in_flight(scene: Scene) -> None:
    """A slot is free again when a stream is closed."""
    source = """
import asyncio
open = [caps.logs.tail(count=9) for _ in range(4)]
for one in open: await anext(one)
try:
    await asyncio.wait_for(caps.logs.one(), 0.1)
except TimeoutError:
    waited = True
await open[0].aclose()
waited, await caps.logs.one()
"""
    assert await scene.value(source) == (True, 1)


async def test_two_streams_are_read_in_turns(scene: Scene) -> None:
    """They do not disturb each other."""
    source = """
a, b = caps.logs.tail(count=3), caps.logs.tail(count=3)
[((await anext(a)).text, (await anext(b)).text) for _ in range(3)]
"""
    assert await scene.value(source) == [(f"line {n}",) * 2 for n in range(3)]


async def test_a_repeat_with_the_same_key_has_no_second_effect(scene: Scene) -> None:
    """The items are gone, and the error says so."""
    source = """
tail = caps.logs.tail.options(idempotency_key="k")
first = [line.text async for line in tail(count=1)]
try:
    async for line in tail(count=1): pass
except ProviderError as error:
    first.append(str(error)[:31])
first
"""
    assert await scene.value(source) == ["line 0", "the call with this key was a st"]
    assert scene.seen == [0, "closed"]
    assert [status for status, _, _ in scene.outcomes("logs.tail")] == ["ok", "replayed"]


async def test_a_session_drops_what_a_cell_left_open(scene: Scene) -> None:
    """The next cell can read anew, and the old generator is at its end or an error."""
    async with scene.runtime.session() as session:
        await session.run("lines = caps.logs.tail(count=9)\nawait anext(lines)")
        result = await session.run("[line.text async for line in caps.logs.tail(count=1)]")
        assert result.value == ["line 0"]
        late = await session.run("await lines.aclose()\n[await caps.logs.one() for _ in range(6)]")
        assert late.value == [1] * 6


async def test_a_single_call_returns_the_list_of_items(scene: Scene) -> None:
    """Complete, or an error: never a part of it."""
    result = await scene.runtime.call("logs.tail", {"count": 2})
    assert [line["text"] for line in result.unwrap()] == ["line 0", "line 1"]
    assert scene.outcomes("logs.tail")[0][:2] == ("ok", 2)
    endless = await scene.runtime.call("logs.wait", timeout_ms=100)
    assert endless.error is not None
    assert endless.error.code == "capability_timeout"


async def test_a_single_call_of_a_long_stream_is_an_error(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By items or by bytes; the provider is closed."""
    monkeypatch.setattr(streams, "MAX_COLLECTED_ITEMS", 3)
    refused = await scene.runtime.call("logs.tail", {"count": 5})
    assert refused.error is not None
    assert "read it from code" in refused.error.message
    assert scene.seen == [0, 1, 2, 3, "closed"]
    large = await scene.runtime.call("logs.large", {"count": 50})
    assert large.error is not None


async def test_stubs_and_checks_know_streams(scene: Scene) -> None:
    """`AsyncIterator[T]`, and no `await`."""
    stubs = scene.runtime.stubs()
    assert "def tail(self, count: int, lost: bool = False) -> AsyncIterator[Line]:" in stubs
    assert "async def one(self) -> int" in stubs
    checked = await scene.runtime.run("await caps.logs.tail(count=1)", check=True)
    assert checked.error is not None
    assert "write `async for` instead of `await`" in checked.error.message


def test_only_an_async_generator_streams() -> None:
    """The specification and the provider have to agree."""

    async def plain(context: CallContext, payload: Any) -> int:
        return 1

    with pytest.raises(RegistrationError, match="if and only if `streams` is True"):
        CapabilityRegistry().register(CapabilitySpec(name="a.b", streams=True), plain)
