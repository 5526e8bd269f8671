"""Artifacts from real workers: granted, bounded, recorded, and in the result of each run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator

import pytest

from caps import (
    Artifact,
    Finished,
    HandedOut,
    MemoryAuditLog,
    Runtime,
    builtin_registry,
)
from caps.security.audit import CallStatus, DecisionMade, OutcomeRecorded

pytestmark = pytest.mark.anyio

POLICY = {
    "id": "maker",
    "allow": ["artifacts.save"],
    "limits": {"artifacts": 3, "artifact_bytes": 300_000},
}
SAVE_TWO = """
await caps.artifacts.save(name="r.csv", content="a,ä\\n")
(await caps.artifacts.save("p.bin", b"\\x00\\xff", media_type="image/x-test")).size
"""


class Place:
    def __init__(self) -> None:
        self.audit = MemoryAuditLog()
        self.runtime = Runtime(POLICY, registry=builtin_registry(), audit=self.audit)

    def outcomes(self) -> list[OutcomeRecorded]:
        return [event for event in self.audit.events if isinstance(event, OutcomeRecorded)]


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    opened = Place()
    async with opened.runtime:
        yield opened


async def test_text_and_bytes_arrive_with_name_and_media_type(place: Place) -> None:
    """The type follows from the name unless it is given."""
    result = await place.runtime.run(SAVE_TWO)
    assert (result.error, result.value) == (None, 2)
    assert result.artifacts == (
        Artifact(name="r.csv", media_type="text/csv", content="a,ä\n".encode()),
        Artifact(name="p.bin", media_type="image/x-test", content=b"\x00\xff"),
    )
    assert "p.bin (image/x-test, 2 bytes)" in result.for_model()
    shown = result.as_json()["artifacts"][1]
    assert base64.b64decode(shown.pop("content")) == b"\x00\xff"
    assert (shown["name"], shown["size"]) == ("p.bin", 2)


async def test_the_log_has_what_it_is_and_not_its_bytes(place: Place) -> None:
    """Name, media type, size and digest, in the record of the outcome."""
    await place.runtime.run("await caps.artifacts.save('s.txt', 'a secret text')")
    (outcome,) = place.outcomes()
    (record,) = outcome.artifacts
    digest = hashlib.sha256(b"a secret text").hexdigest()
    assert (record.name, record.media_type, record.size) == ("s.txt", "text/plain", 13)
    assert record.sha256 == digest
    (decision,) = (event for event in place.audit.events if isinstance(event, DecisionMade))
    assert decision.shown == {"name": "s.txt"}
    assert "a secret text" not in repr(place.audit.events)


async def test_what_was_handed_out_is_there_after_an_error(place: Place) -> None:
    """A failure later takes nothing back, nor does a limit that kills."""
    failed = await place.runtime.run("await caps.artifacts.save('a', b'1')\n1 / 0")
    killed = await place.runtime.run(
        "await caps.artifacts.save('b', b'2')\nwhile True: pass",
        policy={"allow": ["artifacts.*"], "limits": {"wall_ms": 1500}},
    )
    assert [one.name for one in (*failed.artifacts, *killed.artifacts)] == ["a", "b"]
    assert not failed.ok
    assert killed.status.value == "limit"


async def test_count_and_bytes_are_bounded(place: Place) -> None:
    """The code gets the error of a limit and can go on; the log has the refusal."""
    result = await place.runtime.run(
        """
refused = []
for size in (10, 299_980, 20, 5, 1, 1):
    try:
        await caps.artifacts.save(name="x", content=b"x" * size)
    except LimitExceededError as error:
        refused.append((size, error.limit, error.allowed))
refused
"""
    )
    assert [one.size for one in result.artifacts] == [10, 299_980, 5]
    assert result.value == [
        (20, "artifact_bytes", 300_000),
        (1, "artifacts", 3),
        (1, "artifacts", 3),
    ]
    denied = [one for one in place.outcomes() if one.status is CallStatus.DENIED]
    assert [one.reason for one in denied] == ["artifacts_exceeded"] * 3
    assert [one.artifacts for one in denied] == [[]] * 3


async def test_several_at_once_do_not_pass_the_bounds(place: Place) -> None:
    """Large ones are hashed in threads; the store counts them one by one."""
    result = await place.runtime.run(
        """
import asyncio
calls = [caps.artifacts.save(name=f"{n}", content=b"x" * 100_000) for n in range(8)]
found = await asyncio.gather(*calls, return_exceptions=True)
sum(isinstance(one, LimitExceededError) for one in found)
"""
    )
    assert (len(result.artifacts), result.value) == (3, 5)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".profile", "a\nb"])
async def test_a_bad_name_is_an_error_of_the_call(place: Place, name: str) -> None:
    """Nothing is handed out."""
    result = await place.runtime.run(f"await caps.artifacts.save({name!r}, b'')")
    assert result.error is not None
    assert result.error.type == "ProviderError"
    assert "the name of an artifact" in result.error.message
    assert result.artifacts == ()


async def test_without_the_grant_there_is_no_way(place: Place) -> None:
    """Handing out is a power like any other."""
    result = await place.runtime.run(SAVE_TWO, policy={"id": "none", "allow": []})
    assert result.status.value == "policy_refused"
    assert result.artifacts == ()


async def test_a_repeat_with_the_same_key_hands_out_once(place: Place) -> None:
    """The recorded answer has no second effect."""
    result = await place.runtime.run(
        """
save = caps.artifacts.save.options(idempotency_key="k")
[(await save("a", b"1")).size, (await save("a", b"1")).size]
"""
    )
    assert (result.value, len(result.artifacts)) == ([1, 1], 1)


async def test_each_run_of_a_session_has_its_own(place: Place) -> None:
    """And its own bounds."""
    async with place.runtime.session() as session:
        counts = []
        for _ in range(2):
            result = await session.run(
                "for n in range(3): await caps.artifacts.save(str(n), b'')\nn"
            )
            counts.append((result.value, len(result.artifacts)))
        empty = await session.run("n")
    assert (counts, empty.artifacts) == ([(2, 3), (2, 3)], ())


async def test_a_stream_has_an_event_for_each(place: Place) -> None:
    """As they are handed out, the same objects as in the result."""
    events = [event async for event in place.runtime.stream(SAVE_TWO)]
    handed_out = [event.artifact for event in events if isinstance(event, HandedOut)]
    last = events[-1]
    assert isinstance(last, Finished)
    assert handed_out == list(last.result.artifacts)
    assert len(handed_out) == 2
    async with place.runtime.session() as session:
        kinds = [type(event) async for event in session.stream(SAVE_TWO)]
    assert kinds.count(HandedOut) == 2


async def test_a_single_call_has_it_in_its_result(place: Place) -> None:
    """Bytes are an object in JSON, since a text is one already."""
    payload = {"name": "a.png", "content": {"base64": "AP8="}}
    result = await place.runtime.call("artifacts.save", payload)
    assert result.unwrap()["size"] == 2
    assert result.artifacts[0].content == b"\x00\xff"
    text = await place.runtime.call("artifacts.save", {"name": "a", "content": "AP8="})
    assert text.artifacts[0].content == b"AP8="
    refused = await place.runtime.call("artifacts.save", {"name": "a", "content": {"base64": "*"}})
    assert refused.error is not None
    assert refused.error.code == "validation_error"


async def test_what_nested_code_hands_out_is_in_the_result_of_the_outer(place: Place) -> None:
    """Within the limits of both; the record is that of the call of the nested code."""
    policy = {
        "id": "outer",
        "allow": ["artifacts.save", "sandbox.execute_code"],
        "limits": {"artifacts": 2},
    }
    source = """
inner = "for n in range(5):\\n    await caps.artifacts.save(f'inner-{n}', b'')"
await caps.artifacts.save("outer", b"")
await caps.sandbox.execute_code(inner)
None
"""
    audit = MemoryAuditLog()
    async with Runtime(policy, registry=builtin_registry(), audit=audit) as runtime:
        result = await runtime.run(source)
    assert [one.name for one in result.artifacts] == ["outer", "inner-0"]
    recorded = [
        (event.capability, [one.name for one in event.artifacts])
        for event in audit.events
        if isinstance(event, OutcomeRecorded) and event.artifacts
    ]
    assert recorded == [("artifacts.save", ["outer"]), ("artifacts.save", ["inner-0"])]
