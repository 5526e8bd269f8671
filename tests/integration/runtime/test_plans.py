"""Plans through a real runtime: one execution, one flow state, one budget, step by step."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from caps import CapabilityRegistry, MemoryAuditLog, Runtime
from caps.agents.plans.plan import plan_of
from caps.agents.plans.problems import PlanInvalidError
from caps.agents.plans.run import PlanCaller, PlanResult, StepOutcome, run_plan
from caps.agents.plans.validate import CheckedPlan, validate
from caps.capabilities.provider import CallContext
from caps.capabilities.registration import CardTerms
from caps.protocol.errors import ProviderError
from caps.security.audit import CallStatus, DecisionMade

pytestmark = pytest.mark.anyio

ALL: dict[str, Any] = {"id": "all", "allow": ["box.*"]}
ADA = PlanCaller(principal="ada", agent="planner", via="call")


class World:
    """A registry whose functions note their effects."""

    def __init__(self) -> None:
        self.audit = MemoryAuditLog()
        self.effects: list[Any] = []
        self.hanging = anyio.Event()
        self.registry = registry = CapabilityRegistry()

        @registry.capability("box.list")
        async def list_(count: int) -> dict[str, Any]:
            return {"items": [{"name": f"n{number}"} for number in range(count)]}

        @registry.capability("box.take")
        async def take(name: str) -> str:
            self.effects.append(name)
            if name == "n9":
                raise ProviderError("it is gone")
            return name.upper()

        @registry.capability("box.read")
        async def read(context: CallContext, name: str) -> str:
            context.add_labels("private")
            return name

        @registry.capability("box.send", egress=True)
        async def send(text: str) -> None:
            self.effects.append(text)

        @registry.capability("box.hang")
        async def hang() -> None:
            self.hanging.set()
            await anyio.sleep_forever()

        @registry.capability("box.stream")
        async def stream(count: int) -> AsyncIterator[str]:
            for number in range(count):
                yield f"n{number}"

    @asynccontextmanager
    async def runtime(self, policy: Any = ALL) -> AsyncIterator[Runtime]:
        async with Runtime(policy, registry=self.registry, audit=self.audit) as opened:
            yield opened

    def checked(self, runtime: Runtime, *steps: dict[str, Any], **more: Any) -> CheckedPlan:
        plan = plan_of({"version": 1, "id": "p", "steps": list(steps), **more})
        return validate(plan, self.registry, self.registry.chain(runtime.policies))

    def decided(self) -> list[tuple[str, str, str]]:
        return [
            (each.request_id, each.capability, each.reason)
            for each in self.audit.events
            if isinstance(each, DecisionMade)
        ]


def step(id_: str, tool: str, /, **inputs: Any) -> dict[str, Any]:
    return {"id": id_, "tool": tool, "inputs": inputs}


def statuses(result: PlanResult) -> list[str]:
    return [each.status.value for each in result.steps]


async def test_outputs_flow_from_step_to_step_in_one_execution() -> None:
    """The records have the plan and the step, and all have the same execution and principal."""
    world = World()
    async with world.runtime() as runtime:
        plan = world.checked(
            runtime,
            step("list", "box.list", count=2),
            step("take", "box.take", name={"$from": "list", "at": "/items/1/name"}),
            step("many", "box.stream", count=2),
            step("send", "box.send", text={"$from": "many", "at": "/1"}),
        )
        seen: list[StepOutcome] = []
        result = await run_plan(runtime, plan, ADA, on_step=seen.append)
    assert (result.ok, result.value, world.effects) == (True, None, ["n1", "n1"])
    assert [each.value for each in result.steps][1:3] == ["N1", ["n0", "n1"]]
    assert tuple(seen) == result.steps
    assert [each[0] for each in world.decided()] == ["p/list", "p/take", "p/many", "p/send"]
    who = {
        (each.execution_id, each.principal, each.agent, each.via)
        for each in world.audit.events
        if isinstance(each, DecisionMade)
    }
    assert who == {(result.execution_id, "ada", "planner", "call")}


async def test_labels_carry_from_step_to_step() -> None:
    """Also those that only the provider knows; the next plan begins without them."""
    world = World()
    rule = {"id": "closed", "after": ["private"], "deny": ["egress"]}
    steps = [step("read", "box.read", name="x"), step("send", "box.send", text="x")]
    async with world.runtime({**ALL, "flows": [rule]}) as runtime:
        plan = world.checked(runtime, *steps, step("after", "box.take", name="x"))
        assert plan.problems == (), "nobody can know it before"
        result = await run_plan(runtime, plan, ADA)
        alone = await run_plan(runtime, world.checked(runtime, steps[1]), ADA)
    assert statuses(result) == ["succeeded", "refused", "not_run"]
    assert result.steps[1].error is not None
    assert result.steps[1].error["details"]["reason"] == "flow_denied"
    assert (alone.ok, world.effects) == (True, ["x"])


async def test_a_session_keeps_what_its_plans_have_read() -> None:
    """The flow state is that of the session that is named."""
    world = World()
    rule = {"id": "closed", "after": ["private"], "deny": ["egress"]}
    caller = PlanCaller(principal="ada", session="s")
    async with world.runtime({**ALL, "flows": [rule]}) as runtime:
        reads = world.checked(runtime, step("read", "box.read", name="x"))
        sends = world.checked(runtime, step("send", "box.send", text="x"))
        assert (await run_plan(runtime, reads, caller)).ok
        assert not (await run_plan(runtime, sends, caller)).ok
        assert (await run_plan(runtime, sends, PlanCaller(principal="eve", session="s"))).ok


async def test_a_step_that_fails_stops_the_plan() -> None:
    """The others are not run; a place that an output lacks is found before the call."""
    world = World()
    async with world.runtime() as runtime:
        failing = world.checked(
            runtime, step("a", "box.take", name="n9"), step("b", "box.take", name="n1")
        )
        result = await run_plan(runtime, failing, ADA)
        missing = world.checked(
            runtime,
            step("list", "box.list", count=1),
            step("take", "box.take", name={"$from": "list", "at": "/items/5/name"}),
        )
        assert all(each.warning for each in missing.problems)
        lacking = await run_plan(runtime, missing, ADA)
    assert (statuses(result), world.effects) == (["failed", "not_run"], ["n9"])
    assert result.steps[0].error is not None
    assert result.steps[0].error["message"] == "it is gone"
    assert statuses(lacking) == ["succeeded", "failed"]
    assert lacking.steps[1].error == {
        "code": "input_missing",
        "message": "the output has no `5` for steps[1].inputs.name",
    }


async def test_a_plan_with_errors_does_not_run() -> None:
    """Not even its first step."""
    world = World()
    async with world.runtime() as runtime:
        plan = world.checked(runtime, step("a", "box.take", name="x"), step("b", "box.nothing"))
        with pytest.raises(PlanInvalidError):
            await run_plan(runtime, plan, ADA)
    assert (world.effects, world.decided()) == ([], [])


async def test_the_budget_is_that_of_all_steps_together() -> None:
    """A card that became dearer after the check is found when the step runs."""
    world = World()
    dear = CardTerms(agent_type="box", cost_estimate=1.0)
    async with world.runtime() as runtime:
        plan = world.checked(
            runtime,
            step("a", "box.take", name="n1"),
            step("b", "box.take", name="n2"),
            budget=1.5,
        )
        world.registry.use_cards({"box.take": dear})
        result = await run_plan(runtime, plan, ADA)
    assert (statuses(result), world.effects) == (["succeeded", "refused"], ["n1"])
    assert result.steps[1].error is not None
    assert result.steps[1].error["details"]["reason"] == "cost_exceeded"


async def test_cancelling_ends_the_step_in_flight_and_the_plan() -> None:
    """What was begun has its outcome in the records."""
    world = World()
    async with world.runtime() as runtime:
        plan = world.checked(runtime, step("a", "box.hang"), step("b", "box.take", name="never"))
        async with anyio.create_task_group() as group:
            group.start_soon(run_plan, runtime, plan, ADA)
            await world.hanging.wait()
            group.cancel_scope.cancel()
    assert world.effects == []
    assert world.decided() == [("p/a", "box.hang", "allowed")]
    assert getattr(world.audit.events[-1], "status", None) is CallStatus.CANCELLED


async def test_plans_at_the_same_time_do_not_share_what_they_read() -> None:
    """Each has an execution, a flow state and a budget of its own."""
    world = World()
    world.registry.use_cards({"box.send": CardTerms(agent_type="box", cost_estimate=1.0)})
    rule = {"id": "closed", "after": ["private"], "deny": ["egress"]}
    results: dict[int, PlanResult] = {}
    async with world.runtime({**ALL, "flows": [rule]}) as runtime:

        async def run(number: int) -> None:
            first = step("a", "box.read" if number % 2 else "box.take", name=f"m{number}")
            plan = world.checked(runtime, first, step("b", "box.send", text="x"), budget=1)
            results[number] = await run_plan(runtime, plan, ADA)

        async with anyio.create_task_group() as group:
            for number in range(20):
                group.start_soon(run, number)
    assert [results[number].ok for number in range(20)] == [True, False] * 10
    assert len({each.execution_id for each in results.values()}) == 20
