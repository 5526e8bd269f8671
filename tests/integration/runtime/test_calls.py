"""`Runtime.call`: one call of one function without code, through the same broker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from caps import (
    ApprovalAnswer,
    ApprovalRequest,
    AuditError,
    CallContext,
    CallResult,
    CapabilityRegistry,
    ConfigurationError,
    LimitExceededError,
    MemoryAuditLog,
    PolicyDeniedError,
    ProviderError,
    Runtime,
    ValidationError,
)
from caps.security.audit import AuditEvent, DecisionMade, GrantRevoked, OutcomeRecorded

pytestmark = pytest.mark.anyio

POLICY: dict[str, Any] = {"id": "boxes", "allow": ["box.*"], "deny": ["box.secret"]}


@dataclass
class Setup:
    """A registry whose functions note their effects, and runtimes over it."""

    audit: MemoryAuditLog = field(default_factory=MemoryAuditLog)
    effects: list[Any] = field(default_factory=list)
    called: anyio.Event = field(default_factory=anyio.Event)
    registry: CapabilityRegistry = field(default_factory=CapabilityRegistry)

    def __post_init__(self) -> None:
        registry = self.registry

        @registry.capability("box.put", shown=("name",))
        async def put(name: str) -> dict[str, str]:
            self.effects.append(name)
            return {"put": name}

        @registry.capability("box.slow")
        def slow(name: str) -> str:
            self.effects.append(name)
            return name * 10_000

        @registry.capability("box.hang")
        async def hang() -> None:
            self.called.set()
            await anyio.sleep_forever()

        @registry.capability("box.broken")
        async def broken() -> None:
            raise ZeroDivisionError("a secret")

        @registry.capability("box.refuse")
        async def refuse() -> None:
            raise ProviderError("there is no such box")

        @registry.capability("box.secret")
        async def secret() -> str:
            self.effects.append("secret")
            return "secret"

        @registry.capability("box.who")
        async def who(context: CallContext) -> list[str | None]:
            return [context.principal, context.agent, context.session, context.execution_id]

    @asynccontextmanager
    async def runtime(self, **options: Any) -> AsyncIterator[Runtime]:
        given = {"policy": POLICY, "audit": self.audit, **options}
        async with Runtime(registry=self.registry, **given) as runtime:
            yield runtime

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.audit.events if isinstance(event, kind)]


class TestResults:
    """What a call gives back."""

    async def test_an_allowed_call_has_its_value(self) -> None:
        """The value is plain data, and `unwrap` returns it."""
        setup = Setup()
        async with setup.runtime() as runtime:
            result = await runtime.call("box.put", {"name": "a"}, principal="ada")
        assert result.ok
        assert result.unwrap() == {"put": "a"}
        assert setup.effects == ["a"]
        assert result.decision is not None
        assert (result.decision.decision, result.decision.rule) == ("allow", "box.*")

    async def test_a_large_result_of_a_plain_function_arrives(self) -> None:
        """It runs in a thread, and its result is decoded in one."""
        setup = Setup()
        async with setup.runtime() as runtime:
            result = await runtime.call("box.slow", {"name": "ab"})
            payload = await runtime.call("box.put", {"name": "x" * 20_000})
        assert result.unwrap() == "ab" * 10_000
        assert payload.unwrap() == {"put": "x" * 20_000}

    @pytest.mark.parametrize(
        ("name", "payload", "error", "reason"),
        [
            ("box.secret", {}, PolicyDeniedError, "denied_by_rule"),
            ("box.nothing", {}, PolicyDeniedError, "unknown_capability"),
            ("box.put", {"name": 1}, ValidationError, "payload_invalid"),
            ("box.put", None, ValidationError, "payload_invalid"),
        ],
    )
    async def test_a_refused_call_says_why(
        self, name: str, payload: Any, error: type[Exception], reason: str
    ) -> None:
        """The decision is on record, the provider is not called, and `unwrap` raises the error."""
        setup = Setup()
        async with setup.runtime() as runtime:
            result = await runtime.call(name, payload)
        assert not result.ok
        assert setup.effects == []
        with pytest.raises(error):
            result.unwrap()
        (decided,) = setup.of(DecisionMade)
        assert (decided.decision, decided.reason) == ("deny", reason)
        assert setup.of(OutcomeRecorded) == []

    async def test_a_provider_s_own_error_has_its_text_and_no_other(self) -> None:
        """As in user space: the class of a foreign error is on the host's side only."""
        setup = Setup()
        async with setup.runtime() as runtime:
            refused = await runtime.call("box.refuse")
            broken = await runtime.call("box.broken")
        with pytest.raises(ProviderError, match="there is no such box"):
            refused.unwrap()
        assert broken.error is not None
        assert "secret" not in broken.error.message

    async def test_as_json_is_plain_data(self) -> None:
        """What `caps call --json` prints."""
        setup = Setup()
        async with setup.runtime() as runtime:
            found = (await runtime.call("box.put", {"name": "a"})).as_json()
            refused = (await runtime.call("box.secret")).as_json()
        assert (found["ok"], found["value"], found["error"]) == (True, {"put": "a"}, None)
        assert refused["error"]["code"] == "policy_denied"
        assert refused["decision"]["reason"] == "denied_by_rule"


class TestEvidence:
    """What a call leaves in the log."""

    async def test_the_decision_comes_first_and_both_records_say_how_it_came(self) -> None:
        """There is no start and no end: no code ran."""
        setup = Setup()
        async with setup.runtime() as runtime:
            before = len(setup.audit.events)
            result = await runtime.call(
                "box.put", {"name": "a"}, principal="ada", agent="bot", session="s1"
            )
            decided, outcome = setup.audit.events[before:]
        assert isinstance(decided, DecisionMade)
        assert isinstance(outcome, OutcomeRecorded)
        for event in (decided, outcome):
            assert (event.via, event.principal, event.agent) == ("call", "ada", "bot")
            assert (event.session, event.execution_id) == ("s1", result.execution_id)
        assert decided.shown == {"name": "a"}

    async def test_code_comes_by_code(self) -> None:
        """A call from a worker says so, and the record has no field for it."""
        setup = Setup()
        async with setup.runtime() as runtime:
            await runtime.run("await caps.box.put(name='a')")
        assert {event.via for event in setup.of(DecisionMade)} == {"code"}

    async def test_the_way_can_be_given(self) -> None:
        """A service says how its request came; another value is refused."""
        setup = Setup()
        async with setup.runtime() as runtime:
            await runtime.call("box.put", {"name": "a"}, via="mcp")
            with pytest.raises(ConfigurationError, match="via is `'fax'`; set one of code, call"):
                await runtime.call("box.put", {"name": "a"}, via="fax")  # type: ignore[arg-type]
        assert [event.via for event in setup.of(DecisionMade)] == ["mcp"]

    async def test_nothing_happens_if_the_decision_cannot_be_written(self) -> None:
        """It fails closed."""

        class FullLog(MemoryAuditLog):
            async def append(self, event: AuditEvent) -> None:
                if isinstance(event, DecisionMade):
                    raise AuditError("the disk is full")
                await super().append(event)

        setup = Setup(audit=FullLog())
        async with setup.runtime() as runtime:
            result = await runtime.call("box.put", {"name": "a"})
        assert setup.effects == []
        with pytest.raises(AuditError):
            result.unwrap()

    async def test_the_provider_is_told_who_calls(self) -> None:
        """By the arguments of `call`, never by the payload."""
        setup = Setup()
        async with setup.runtime() as runtime:
            result = await runtime.call("box.who", principal="ada", agent="bot", session="s")
        assert result.unwrap() == ["ada", "bot", "s", result.execution_id]


class TestLimits:
    """Quota, deadline, approval and revocation are those of any call."""

    async def test_rates_count_over_calls_and_code(self) -> None:
        """The window is that of the principal."""
        setup = Setup()
        policy = {**POLICY, "limits": {"rates": {"box.put": "2/hour"}}}
        async with setup.runtime(policy=policy) as runtime:
            await runtime.run("await caps.box.put(name='a')", principal="ada")
            await runtime.call("box.put", {"name": "b"}, principal="ada")
            third = await runtime.call("box.put", {"name": "c"}, principal="ada")
            other = await runtime.call("box.put", {"name": "d"}, principal="bob")
        with pytest.raises(LimitExceededError):
            third.unwrap()
        assert other.ok
        assert setup.effects == ["a", "b", "d"]

    @pytest.mark.parametrize("limit", ["timeout_ms", "wall_ms"])
    async def test_a_call_ends_at_its_deadline(self, limit: str) -> None:
        """Its own, or that of the policy."""
        setup = Setup()
        policy = {**POLICY, "limits": {"wall_ms": 50}} if limit == "wall_ms" else POLICY
        timeout_ms = 50 if limit == "timeout_ms" else None
        async with setup.runtime(policy=policy) as runtime:
            result = await runtime.call("box.hang", timeout_ms=timeout_ms)
        assert result.error is not None
        assert result.error.code == "capability_timeout"
        assert [event.status.value for event in setup.of(OutcomeRecorded)] == ["timeout"]

    async def test_a_call_waits_for_its_approval(self) -> None:
        """A person is asked, and the answer decides."""
        asked: list[ApprovalRequest] = []

        async def approver(request: ApprovalRequest) -> ApprovalAnswer:
            asked.append(request)
            return ApprovalAnswer(allowed=request.shown == {"name": "a"}, by="eve")

        setup = Setup()
        policy = {**POLICY, "approve": ["box.put"]}
        async with setup.runtime(policy=policy, approver=approver) as runtime:
            given = await runtime.call("box.put", {"name": "a"})
            denied = await runtime.call("box.put", {"name": "b"})
        assert given.ok
        assert denied.decision is not None
        assert denied.decision.reason == "approval_denied"
        assert setup.effects == ["a"]
        assert len(asked) == 2

    async def test_a_call_can_be_revoked_while_it_runs(self) -> None:
        """By its execution id, which the provider's context and the records have."""
        setup = Setup()
        found: list[CallResult] = []

        async def call(runtime: Runtime) -> None:
            found.append(await runtime.call("box.hang"))

        async with setup.runtime() as runtime, anyio.create_task_group() as tasks:
            tasks.start_soon(call, runtime)
            await setup.called.wait()
            await runtime.revoke(setup.of(DecisionMade)[0].execution_id, "box.hang")
        with pytest.raises(PolicyDeniedError, match="revoked while the call was made"):
            found[0].unwrap()
        assert len(setup.of(GrantRevoked)) == 1

    async def test_another_policy_for_one_call(self) -> None:
        """`policy` applies to this call."""
        setup = Setup()
        async with setup.runtime() as runtime:
            result = await runtime.call("box.put", {"name": "a"}, policy={"id": "empty"})
        assert result.decision is not None
        assert result.decision.reason == "not_allowed"


class TestKeys:
    """Idempotency keys hold across calls of one principal and session."""

    async def test_a_repeat_gets_the_first_answer(self) -> None:
        """There is one effect, and the repeat is on record as replayed."""
        setup = Setup()
        async with setup.runtime() as runtime:
            for _ in range(2):
                result = await runtime.call("box.put", {"name": "a"}, idempotency_key="k")
                assert result.unwrap() == {"put": "a"}
        assert setup.effects == ["a"]
        assert [event.status.value for event in setup.of(OutcomeRecorded)] == ["ok", "replayed"]

    @pytest.mark.parametrize("size", [1, 10_000])
    async def test_concurrent_calls_have_one_effect(self, size: int) -> None:
        """Also if their payloads are hashed in threads, before a call takes its key."""
        setup, name, answers = Setup(), "a" * size, list[Any]()

        async def call(runtime: Runtime) -> None:
            result = await runtime.call("box.put", {"name": name}, idempotency_key="k")
            answers.append(result.unwrap())

        async with setup.runtime() as runtime, anyio.create_task_group() as group:
            for _ in range(4):
                group.start_soon(call, runtime)
        assert answers == [{"put": name}] * 4
        assert setup.effects == [name]

    async def test_other_arguments_or_another_caller(self) -> None:
        """Other arguments under the same key are refused; another caller has its own keys."""
        setup = Setup()
        async with setup.runtime() as runtime:
            await runtime.call("box.put", {"name": "a"}, idempotency_key="k")
            conflict = await runtime.call("box.put", {"name": "b"}, idempotency_key="k")
            other = await runtime.call("box.put", {"name": "b"}, principal="x", idempotency_key="k")
            session = await runtime.call("box.put", {"name": "c"}, session="x", idempotency_key="k")
        with pytest.raises(ValidationError, match="used before with other arguments"):
            conflict.unwrap()
        assert other.ok
        assert session.ok
        assert setup.effects == ["a", "b", "c"]


class TestBadInput:
    """Nothing is recorded, and the error says in one line what is wrong."""

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("box.put", {"name": {1}}), "the call cannot be made: "),
            (("box.put", [1]), "expected `object`, got `array` - at `payload`"),
            (("x", {}), "expected `str` of length >= 3 - at `capability`"),
            ((7, {}), "expected `str`, got `int` - at `capability`"),
            (("box.put", {"name": float("nan")}), "the call cannot be made: "),
            (("box.put", {1: 2}), "the call cannot be made: "),
            (("box.put", {"name": "\ud800"}), "the call cannot be made: "),
            (("box.put", {"name": 2**70}), "the call cannot be made: "),
            (("box.put", {"name": "x" * (9 * 1024 * 1024)}), "bytes, over"),
        ],
    )
    async def test_arguments_that_no_request_can_have(
        self, arguments: tuple[Any, Any], message: str
    ) -> None:
        """Wrong types, sizes and values."""
        setup = Setup()
        async with setup.runtime() as runtime:
            with pytest.raises(ConfigurationError) as caught:
                await runtime.call(*arguments)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
        assert setup.of(DecisionMade) == []

    async def test_a_payload_that_contains_itself(self) -> None:
        """The depth is bounded."""
        payload: dict[str, Any] = {}
        payload["name"] = payload
        setup = Setup()
        async with setup.runtime() as runtime:
            with pytest.raises(ConfigurationError, match="nests deeper than"):
                await runtime.call("box.put", payload)

    @pytest.mark.parametrize("timeout_ms", [0, -1, 3_600_001, "5", 1.5])
    async def test_a_timeout_out_of_range(self, timeout_ms: Any) -> None:
        """As for a request from user space."""
        setup = Setup()
        async with setup.runtime() as runtime:
            with pytest.raises(ConfigurationError, match="timeout_ms"):
                await runtime.call("box.put", {"name": "a"}, timeout_ms=timeout_ms)

    async def test_the_payload_is_copied(self) -> None:
        """A later change of the caller's dictionary has no effect on what is decided and done."""
        setup = Setup()
        payload = {"name": "a"}

        async def approver(request: ApprovalRequest) -> ApprovalAnswer:
            payload["name"] = "changed"
            return ApprovalAnswer(allowed=True, by="eve")

        policy = {**POLICY, "approve": ["box.put"]}
        async with setup.runtime(policy=policy, approver=approver) as runtime:
            await runtime.call("box.put", payload)
        assert setup.effects == ["a"]


class TestClosing:
    """A call ends with its runtime."""

    async def test_a_call_in_flight_is_cancelled_and_recorded(self) -> None:
        """The caller gets an error, and the record says that it was cancelled."""
        setup = Setup()
        errors: list[Exception] = []

        async def call(runtime: Runtime) -> None:
            try:
                await runtime.call("box.hang")
            except ConfigurationError as error:
                errors.append(error)

        async with anyio.create_task_group() as tasks, setup.runtime() as runtime:
            tasks.start_soon(call, runtime)
            await setup.called.wait()
        assert "the runtime was closed during the call" in str(errors[0])
        assert [event.status.value for event in setup.of(OutcomeRecorded)] == ["cancelled"]

    def test_without_an_event_loop(self, tmp_path: Path) -> None:
        """`call_sync` and `submit_call`, from any thread."""
        setup = Setup()
        with Runtime(POLICY, registry=setup.registry, audit=setup.audit) as runtime:
            assert runtime.call_sync("box.put", {"name": "a"}).unwrap() == {"put": "a"}
            assert runtime.submit_call("box.put", {"name": "b"}).result().ok
