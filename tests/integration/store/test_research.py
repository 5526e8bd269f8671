"""The scratchpad of findings: by code and by single calls, on both databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from caps import CallResult, CapabilityRegistry, MemoryAuditLog, Runtime, builtin_registry
from caps.providers.research import scratchpad

pytestmark = pytest.mark.anyio


def registry() -> CapabilityRegistry:
    made = builtin_registry(plugins="off")

    @made.capability("hr.read", labels=("private",))
    async def read() -> str:
        return "secret"

    @made.capability("mail.send", egress=True)
    async def send(text: str) -> str:
        return text

    return made


POLICY: dict[str, Any] = {
    "id": "researcher",
    "allow": ["research.*", "hr.*", "mail.*"],
    "flows": [{"id": "keep", "after": ["private"], "deny": ["egress"]}],
}


@pytest.fixture
async def runtime(store_url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Runtime]:
    monkeypatch.setenv("CAPS_DATABASE_URL", store_url)
    async with Runtime(POLICY, registry=registry(), audit=MemoryAuditLog()) as opened:
        yield opened


async def called(
    runtime: Runtime, name: str, session: str | None = "s", principal: str = "ann", **payload: Any
) -> CallResult:
    return await runtime.call(f"research.{name}", payload, session=session, principal=principal)


async def test_findings_are_kept_by_section_and_rendered(runtime: Runtime) -> None:
    """A source that two findings name has one number; headings are one line."""
    book = {"title": "A book"}
    page = {"title": "A page", "url": "https://example.org/"}
    code = (
        "await caps.research.add(text='one', section=' North  sea\\n', sources=[book, page])\n"
        "await caps.research.add(text='two\\nlines', sources=[page])\n"
        "await caps.research.add(text='three', section='North sea')\n"
        "(await caps.research.summary(title='Seas')).text"
    )
    result = await runtime.run(
        code, inputs={"book": book, "page": page}, session="s", principal="ann"
    )
    assert result.error is None
    assert result.value == (
        "# Seas\n\n## North sea\n\n- one [1] [2]\n- three\n\n## General\n\n- two\n  lines [2]\n\n"
        "## Sources\n\n1. A book\n2. A page <https://example.org/>\n"
    )
    listed = (await called(runtime, "list", section="North sea")).unwrap()
    assert [each["text"] for each in listed["findings"]] == ["one", "three"]
    assert listed["findings"][0]["sources"] == [{"title": "A book", "url": None}, page]
    assert listed["sections"] == ["North sea", "General"]


async def test_a_finding_is_removed_by_its_number_which_is_not_used_again(
    runtime: Runtime,
) -> None:
    """One that does not exist is an answer."""
    first = (await called(runtime, "add", text="one")).unwrap()["number"]
    assert (await called(runtime, "remove", number=first)).unwrap()["removed"]
    assert not (await called(runtime, "remove", number=first)).unwrap()["removed"]
    assert (await called(runtime, "add", text="two")).unwrap()["number"] > first


async def test_a_scratchpad_belongs_to_a_principal_and_a_session(runtime: Runtime) -> None:
    """A fresh one is empty; without a session there is none."""
    await called(runtime, "add", text="one")
    for other in ({"session": "t"}, {"principal": "bob"}):
        assert (await called(runtime, "list", **other)).unwrap()["count"] == 0
    summary = (await called(runtime, "summary", session="t")).unwrap()
    assert summary == {"text": "# Research\n", "sections": 0, "findings": 0, "sources": 0}
    without = await called(runtime, "list", session=None)
    assert without.error is not None
    assert "pass `session=...`" in without.error.message


async def test_findings_keep_the_labels_of_what_their_writer_had_read(runtime: Runtime) -> None:
    """Another program of the session that reads them may not send."""
    await runtime.run(
        "await caps.hr.read()\nawait caps.research.add(text='x')", session="s", principal="ann"
    )
    before = await runtime.run("await caps.mail.send(text='x')", session=None, principal="ann")
    assert before.ok
    for function in ("list", "summary"):
        other = await runtime.run(
            f"await caps.research.{function}()\nawait caps.mail.send(text='x')",
            session="s",
            principal="ann",
        )
        assert other.error is not None
        assert "flows.keep" in other.error.message


@pytest.mark.parametrize(
    ("name", "payload", "said"),
    [
        ("add", {"text": ""}, "text"),
        ("add", {"text": "x" * 10_001}, "text"),
        ("add", {"text": "x", "section": "  "}, "is empty"),
        ("add", {"text": "x", "sources": [{"url": "u"}]}, "title"),
        ("add", {"text": "x", "sources": [{"title": "t"}] * 21}, "sources"),
        ("remove", {"number": -1}, "number"),
        ("list", {"section": ""}, "section"),
    ],
)
async def test_bad_input_is_refused(
    runtime: Runtime, name: str, payload: dict[str, Any], said: str
) -> None:
    """In one line; nothing is stored."""
    result = await called(runtime, name, **payload)
    assert result.error is not None
    assert said in result.error.message
    assert (await called(runtime, "list")).unwrap()["count"] == 0


async def test_concurrent_writers_lose_nothing_and_the_number_is_bounded(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound holds, too."""
    monkeypatch.setattr(scratchpad, "MAX_FINDINGS", 8)
    results: list[CallResult] = []

    async def add(number: int) -> None:
        results.append(await called(runtime, "add", text=str(number)))

    async with anyio.create_task_group() as tasks:
        for number in range(12):
            tasks.start_soon(add, number)
    assert sum(result.ok for result in results) == 8
    assert (await called(runtime, "list")).unwrap()["count"] == 8
    refused = [result.error.message for result in results if result.error is not None]
    assert set(refused) == {"the scratchpad has 8 findings; remove some first"}


async def test_a_nul_character_is_refused_on_both_databases(runtime: Runtime) -> None:
    """PostgreSQL cannot store one; the same call has the same answer everywhere."""
    for payload in ({"text": "a\0b"}, {"text": "a", "section": "b\0"}):
        refused = await called(runtime, "add", **payload)
        assert refused.error is not None
        assert refused.error.message == "a finding has a NUL character; leave it out"
    assert (await called(runtime, "list")).unwrap()["count"] == 0
