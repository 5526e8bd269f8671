"""What a provider asks of its runtime: nested calls, nested executions, shared resources."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from caps import CallContext, CapabilityRegistry, MemoryAuditLog, PolicyDeniedError, Runtime
from caps.security.audit import CallStatus, DecisionMade, ExecutionStarted, OutcomeRecorded

pytestmark = pytest.mark.anyio


@dataclass
class Setup:
    """`hop.*` nests calls, `code.*` nests executions, `pool.*` uses a shared resource.

    `box.*` passes a word from one execution to another.
    """

    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    registry: CapabilityRegistry = field(default_factory=CapabilityRegistry)
    opened: list[str] = field(default_factory=list)
    failures: int = 0
    inside: anyio.Event = field(default_factory=anyio.Event)
    words: dict[str, anyio.Event] = field(default_factory=lambda: defaultdict(anyio.Event))

    def __post_init__(self) -> None:
        self.add_calls(self.registry)
        self.add_results(self.registry)
        self.add_code_and_pool(self.registry)
        self.add_box(self.registry)

    def add_calls(self, registry: CapabilityRegistry) -> None:
        @registry.capability("hop.down", shown=("left",))
        async def down(context: CallContext, left: int) -> list[int]:
            if left == 0:
                return [context.depth]
            return [context.depth, *(await context.call("hop.down", {"left": left - 1}))]

        @registry.capability("hop.caught")
        async def caught(context: CallContext) -> str:
            try:
                return str(await context.call("hop.secret", {}))
            except PolicyDeniedError as error:
                return f"refused: {error.details['reason']}"

        @registry.capability("hop.through")
        async def through(context: CallContext, name: str, payload: dict[str, Any]) -> Any:
            return await context.call(name, payload)

    def add_results(self, registry: CapabilityRegistry) -> None:
        @registry.capability("hop.read", labels=("private",))
        async def read() -> str:
            return "found"

        @registry.capability("hop.secret")
        async def secret() -> str:
            return "secret"

        @registry.capability("hop.send", egress=True)
        async def send(text: str) -> str:
            return text

        @registry.capability("hop.hang")
        async def hang() -> None:
            self.inside.set()
            await anyio.sleep_forever()

    def add_code_and_pool(self, registry: CapabilityRegistry) -> None:
        @registry.capability("code.run")
        async def run(
            context: CallContext, source: str, policy: dict[str, Any] | None = None
        ) -> dict[str, Any]:
            return (await context.run(source, policy=policy, inputs={"given": 7})).as_json()

        @asynccontextmanager
        async def open_pool() -> AsyncIterator[list[str]]:
            if self.failures:
                self.failures -= 1
                raise OSError("no pool")
            self.opened.append("open")
            yield self.opened
            self.opened.append("closed")

        @registry.capability("pool.use")
        async def use(context: CallContext) -> int:
            return len(await context.resource(open_pool))

    def add_box(self, registry: CapabilityRegistry) -> None:
        @registry.capability("box.put", inline=False)
        async def put(word: str) -> None:
            self.words[word].set()

        @registry.capability("box.wait")
        async def wait(word: str) -> None:
            await self.words[word].wait()

    @asynccontextmanager
    async def runtime(self, **policy: Any) -> AsyncIterator[Runtime]:
        given = {"id": "nested", "allow": ["hop.*", "code.*", "pool.*", "box.*"], **policy}
        async with Runtime(given, registry=self.registry, audit=self.audit) as runtime:
            yield runtime

    def events(self, kind: type[Any]) -> list[Any]:
        return [record.event for record in self.audit.records if isinstance(record.event, kind)]


async def test_each_nested_call_is_decided_and_recorded_and_names_its_parent() -> None:
    setup = Setup()
    async with setup.runtime() as runtime:
        result = await runtime.call("hop.down", {"left": 2})
    assert result.unwrap() == [0, 1, 2]
    decisions = setup.events(DecisionMade)
    assert [event.shown["left"] for event in decisions] == [2, 1, 0]
    ids = [event.request_id for event in decisions]
    assert [event.parent for event in decisions] == [None, ids[0], ids[1]]
    assert [event.request_id for event in setup.events(OutcomeRecorded)] == ids[::-1]


async def test_a_nested_call_needs_a_grant_of_its_own() -> None:
    setup = Setup()
    async with setup.runtime(deny=["hop.secret"]) as runtime:
        assert (await runtime.call("hop.caught")).unwrap() == "refused: denied_by_rule"
        passed_on = await runtime.call("hop.through", {"name": "hop.secret", "payload": {}})
        assert passed_on.error is not None
        assert passed_on.error.code == "policy_denied"
    outer = setup.events(OutcomeRecorded)[-1]
    assert (outer.status, outer.reason) == (CallStatus.DENIED, "denied_by_rule")


async def test_a_provider_that_nests_for_ever_is_stopped() -> None:
    setup = Setup()
    async with setup.runtime() as runtime:
        result = await runtime.call("hop.down", {"left": 100})
    assert result.error is not None
    assert result.error.message == "`hop.down` nests more than 16 calls"


async def test_nested_calls_count_and_need_no_further_place() -> None:
    setup = Setup()
    async with setup.runtime(limits={"calls": 3, "concurrency": 1}) as runtime:
        good = await runtime.run("await caps.hop.down(left=2)")
        bad = await runtime.run("await caps.hop.down(left=3)")
    assert good.value == [0, 1, 2]
    assert bad.error is not None
    assert bad.error.type == "LimitExceededError"


async def test_what_a_nested_call_was_answered_decides_what_the_caller_may_send() -> None:
    setup = Setup()
    flows = [{"id": "keep", "after": ["private"], "deny": ["egress"]}]
    async with setup.runtime(flows=flows) as runtime:
        result = await runtime.run(
            "await caps.hop.through(name='hop.read', payload={})\nawait caps.hop.send(text='x')"
        )
    assert result.error is not None
    assert "flows.keep" in result.error.message


async def test_the_outer_deadline_ends_a_nested_call() -> None:
    setup = Setup()
    async with setup.runtime() as runtime:
        payload = {"name": "hop.hang", "payload": {}}
        result = await runtime.call("hop.through", payload, timeout_ms=50)
    assert result.error is not None
    assert result.error.code == "capability_timeout"
    assert [event.status for event in setup.events(OutcomeRecorded)] == [
        CallStatus.CANCELLED,
        CallStatus.TIMEOUT,
    ]


async def test_nested_code_runs_under_the_grant_of_its_caller_and_names_its_parent() -> None:
    setup = Setup()
    async with setup.runtime() as runtime:
        outer = await runtime.run(
            "await caps.code.run(source='print(given); (await caps.hop.down(left=0))[0]')"
        )
    assert outer.value["value"] == 0
    assert outer.value["stdout"] == "7\n"
    first, second = setup.events(ExecutionStarted)
    call = setup.events(DecisionMade)[0]
    assert second.parent == f"{first.execution_id}/{call.request_id}"
    assert second.execution_id == outer.value["execution_id"]
    assert outer.usage.calls == 2, "the call of the nested code counts"


async def test_a_policy_of_nested_code_can_only_take_away() -> None:
    setup = Setup()
    code = "[hasattr(caps.hop, 'read'), hasattr(caps.hop, 'secret'), hasattr(caps, 'code')]"
    async with setup.runtime(deny=["hop.secret"]) as runtime:
        outer = await runtime.run(
            f"await caps.code.run(source={code!r}, policy={{'allow': ['hop.read', 'hop.secret']}})"
        )
        wrong = await runtime.run("await caps.code.run(source='1', policy={'allow': 1})")
    assert outer.value["value"] == [True, False, False]
    assert wrong.error is not None


async def test_code_is_nested_at_most_three_deep() -> None:
    setup = Setup()
    source = "1"
    for _ in range(4):
        source = f"(await caps.code.run(source={source!r}))"
    async with setup.runtime() as runtime:
        result = await runtime.run(source)
    found = result.value
    while found["error"] is None:
        found = found["value"]
    assert "nested more than 3 executions deep" in found["error"]["message"]
    assert len(setup.events(ExecutionStarted)) == 4


async def test_nested_code_shares_the_calls_that_are_left() -> None:
    setup = Setup()
    code = "for n in range(9):\n    await caps.hop.secret()"
    async with setup.runtime(limits={"calls": 5}) as runtime:
        outer = await runtime.run(
            f"got = await caps.code.run(source={code!r})\n"
            "try:\n    await caps.hop.secret()\nexcept LimitExceededError as error:\n"
            "    print(error)\ngot['error']['message']"
        )
    assert "limits.calls" in outer.value
    assert "limits.calls" in outer.stdout
    allowed = [e for e in setup.events(DecisionMade) if e.decision == "allow"]
    assert len(allowed) == 5


async def test_what_nested_code_has_read_marks_its_caller() -> None:
    setup = Setup()
    flows = [{"id": "keep", "after": ["private"], "deny": ["egress"]}]
    async with setup.runtime(flows=flows) as runtime:
        result = await runtime.run(
            "await caps.code.run(source='await caps.hop.read()')\nawait caps.hop.send(text='x')"
        )
        inner = await runtime.run(
            "await caps.hop.read()\n"
            "got = await caps.code.run(source=\"await caps.hop.send(text='x')\")\n"
            "got['error']['message']"
        )
    assert result.error is not None
    assert "flows.keep" in result.error.message
    assert "flows.keep" in inner.value


async def test_nested_code_and_its_caller_are_marked_at_once_by_what_either_has_read() -> None:
    """Both run at the same time, and a store without labels could pass on what one has read."""
    setup = Setup()
    flows = [{"id": "keep", "after": ["private"], "deny": ["egress"]}]
    waiting = (
        "await caps.hop.read()\nawait caps.box.put(word='read')\nawait caps.box.wait(word='end')"
    )
    sending = (
        "await caps.box.put(word='on')\nawait caps.box.wait(word='read')\n"
        "await caps.hop.send(text='x')"
    )
    start = "import asyncio\ninner = asyncio.create_task(caps.code.run(source={!r}))\n"
    async with setup.runtime(flows=flows) as runtime:
        inner_reads = await runtime.run(
            start.format(waiting)
            + "await caps.box.wait(word='read')\nawait caps.hop.send(text='x')"
        )
        setup.words.clear()
        outer_reads = await runtime.run(
            start.format(sending) + "await caps.box.wait(word='on')\nawait caps.hop.read()\n"
            "await caps.box.put(word='read')\n(await inner)['error']['message']"
        )
    assert inner_reads.error is not None
    assert "flows.keep" in inner_reads.error.message
    assert "flows.keep" in outer_reads.value


async def test_revoking_reaches_the_code_that_is_nested() -> None:
    setup = Setup()
    async with setup.runtime() as runtime, anyio.create_task_group() as tasks:
        results: list[Any] = []
        code = "await caps.hop.hang()"

        async def run() -> None:
            results.append(await runtime.run(f"await caps.code.run(source={code!r})"))

        tasks.start_soon(run)
        await setup.inside.wait()
        outer = setup.events(ExecutionStarted)[0].execution_id
        await runtime.revoke(outer, "hop.*")
    assert results[0].value["error"]["code"] == "policy_denied"


async def test_cancelling_the_outer_execution_ends_the_nested_one() -> None:
    setup = Setup()
    async with setup.runtime() as runtime, anyio.create_task_group() as tasks:
        tasks.start_soon(runtime.run, "await caps.code.run(source='await caps.hop.hang()')")
        await setup.inside.wait()
        tasks.cancel_scope.cancel()
    statuses = [event.status for event in setup.events(OutcomeRecorded)]
    assert statuses == [CallStatus.CANCELLED, CallStatus.CANCELLED]


async def test_a_resource_is_opened_once_and_closed_with_the_runtime() -> None:
    setup = Setup()
    async with setup.runtime() as runtime:
        first = await runtime.run(
            "import asyncio\nawait asyncio.gather(*[caps.pool.use() for _ in range(9)])"
        )
        assert first.value == [1] * 9
        assert setup.opened == ["open"]
    assert setup.opened == ["open", "closed"]


async def test_a_resource_that_failed_to_open_is_tried_again() -> None:
    setup = Setup(failures=1)
    async with setup.runtime() as runtime:
        assert (await runtime.call("pool.use")).error is not None
        assert (await runtime.call("pool.use")).unwrap() == 1
