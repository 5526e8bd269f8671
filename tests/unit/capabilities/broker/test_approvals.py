"""The approval queue alone, with its own clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from caps import ApprovalAnswer, ApprovalRequest, CapabilityRegistry, MemoryAuditLog, Metrics
from caps.capabilities.broker.approvals import ApprovalCall, ApprovalQueue
from caps.security.approvals.model import ApprovalScope
from caps.security.audit import ApprovalOutcome, ApprovalSettled
from caps.security.decision import decide
from caps.security.request import NOTHING_USED, ApprovalUse, Request
from support.parameter_names import stable_repr

pytestmark = pytest.mark.anyio


def asked_call() -> ApprovalCall:
    registry = CapabilityRegistry()

    @registry.capability("box.drop", shown=("name",))
    async def drop(name: str) -> str:
        return name

    grant = registry.inject("caps", "e1", {"allow": ["box.*"], "approve": ["box.drop"]})
    return ApprovalCall(
        who={"execution_id": "e1", "principal": "ada", "agent": None, "session": None},
        channel_id="e1",
        request_id="r1",
        grant=grant,
        terms=grant.terms["box.drop"],
        decision=decide(grant, Request("box.drop", {"name": "a"}), NOTHING_USED),
        redacted=MemoryAuditLog().redactor.split({"name": "a"}, ("name",)),
        rules=(("box.drop",),),
    )


async def test_a_span_that_is_over_covers_nothing() -> None:
    """Up to its last moment it covers every call, and then none."""
    now = [100.0]

    async def approve(_: ApprovalRequest) -> ApprovalAnswer:
        return ApprovalAnswer(allowed=True, by="ada", seconds=10)

    metrics = Metrics(CollectorRegistry())
    desk = ApprovalQueue(MemoryAuditLog(), metrics, approve, clock=lambda: now[0])
    call = asked_call()
    assert desk.take(call) is None
    settled = await desk.ask(call, 1000)
    assert settled.use is ApprovalUse.GIVEN
    now[0] = 109.9
    assert desk.take(call) == settled.approval_id
    now[0] = 110.0
    assert desk.take(call) is None


async def nobody() -> bool:
    return True


class Unchecked(ApprovalAnswer, frozen=True):
    """An answer that skips the checks."""

    def __post_init__(self) -> None:
        pass


def changed(**fields: Any) -> ApprovalAnswer:
    """A valid answer into which invalid values were written afterwards."""
    answer = ApprovalAnswer(allowed=False, by="ada")
    for name, value in fields.items():
        msgspec.structs.force_setattr(answer, name, value)
    return answer


NOT_A_YES = ["no", "false", "yes", 1, [0], [True], {"allowed": True}, object(), None]
BAD_COVERS: list[dict[str, Any]] = [
    {"calls": 1.5},
    {"calls": True},
    {"calls": "3"},
    {"calls": 10**400},
    {"calls": float("nan")},
    {"seconds": 2.5},
    {"seconds": True},
    {"seconds": float("inf")},
    {"reach": "principal", "seconds": 5},
    {"reach": None},
    {"reach": 1},
    {"by": 5},
    {"by": None},
    {"by": b"ada"},
    {"reason": 7},
]


async def answer_of(approver: Callable[[ApprovalRequest], Any]) -> tuple[ApprovalUse, Any]:
    """What the queue does with an approver's answer, and the record of it."""
    log = MemoryAuditLog()
    desk = ApprovalQueue(log, Metrics(CollectorRegistry()), approver)
    result = await desk.ask(asked_call(), 60_000)
    assert desk.take(asked_call()) is None
    return result.use, log.events[-1]


class TestOnlyTrueIsAYes:
    """Whatever else an approver answers with is a denial with a logged error."""

    @pytest.mark.parametrize("value", NOT_A_YES, ids=stable_repr)
    def test_no_answer_has_another_value(self, value: object) -> None:
        """It cannot be built, and the error is one line."""
        with pytest.raises(ValueError, match=r"^`allowed` should be `True` or `False`, not `\w+`$"):
            ApprovalAnswer(allowed=value, by="ada")  # type: ignore[arg-type]

    @pytest.mark.parametrize("fields", BAD_COVERS, ids=stable_repr)
    def test_no_answer_covers_anything_else(self, fields: dict[str, Any]) -> None:
        """Calls and seconds are integers, the scope is one of two."""
        with pytest.raises(ValueError, match=r"^`\w+` should [^\n]*$"):
            ApprovalAnswer(**{"allowed": True, "by": "ada", **fields})

    @pytest.mark.parametrize("value", NOT_A_YES, ids=stable_repr)
    @pytest.mark.parametrize("make", [Unchecked, changed, None])
    async def test_it_denies(self, make: Any, value: object, caplog: Any) -> None:
        """Also if the check of the answer was bypassed."""

        async def approve(_: ApprovalRequest) -> Any:
            return value if make is None else make(allowed=value, by="ada")

        use, record = await answer_of(approve)
        assert use is ApprovalUse.DENIED
        assert isinstance(record, ApprovalSettled)
        assert (record.outcome, record.by) == (ApprovalOutcome.DENIED, "(host)")
        assert "the call is denied" in caplog.text

    @pytest.mark.parametrize("fields", BAD_COVERS, ids=stable_repr)
    async def test_a_cover_that_is_none_denies(self, fields: dict[str, Any], caplog: Any) -> None:
        """The call is refused; the caller of `run` gets no exception."""

        async def approve(_: ApprovalRequest) -> Any:
            return Unchecked(**{"allowed": True, "by": "ada", **fields})

        use, _ = await answer_of(approve)
        assert use is ApprovalUse.DENIED
        assert "the call is denied" in caplog.text

    async def test_a_coroutine_that_nobody_awaited_denies(self, caplog: Any) -> None:
        """The approver forgot an `await`; the coroutine is closed."""

        async def approve(_: ApprovalRequest) -> Any:
            return nobody()

        assert (await answer_of(approve))[0] is ApprovalUse.DENIED
        assert "the call is denied" in caplog.text

    @pytest.mark.parametrize(
        "answer", [True, ApprovalAnswer(allowed=True, by="ada")], ids=stable_repr
    )
    async def test_a_plain_function_denies(self, answer: Any, caplog: Any) -> None:
        """An approver is asynchronous."""
        assert (await answer_of(lambda _: answer))[0] is ApprovalUse.DENIED
        assert "the call is denied" in caplog.text

    @pytest.mark.parametrize("error", [SystemExit, BaseException, ExceptionGroup("", [OSError()])])
    async def test_an_approver_that_raises_anything_denies(self, error: Any, caplog: Any) -> None:
        """It is not raised to the program, and never as a group."""

        async def approve(_: ApprovalRequest) -> ApprovalAnswer:
            raise error

        assert (await answer_of(approve))[0] is ApprovalUse.DENIED
        assert "the call is denied" in caplog.text

    async def test_a_yes_is_one(self) -> None:
        """`True`, with a valid cover."""

        async def approve(_: ApprovalRequest) -> ApprovalAnswer:
            return ApprovalAnswer(allowed=True, by="ada", reach=ApprovalScope.EXECUTION)

        assert (await answer_of(approve))[0] is ApprovalUse.GIVEN
