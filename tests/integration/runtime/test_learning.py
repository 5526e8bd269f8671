"""Running code to learn what it asks for: everything is withheld and recorded, nothing happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from caps import MemoryAuditLog, Runtime, builtin_registry
from caps.security.audit import DecisionMade, ExecutionStarted, OutcomeRecorded
from caps.security.review.learn import learn

TRY_ALL = """
refused = []
for name, attempt in (
    ("write", caps.files.write(path={path!r}, content="x")),
    ("delete", caps.files.delete(path={path!r})),
    ("add", caps.math.add(a=1, b=2)),
):
    try:
        await attempt
    except caps.PolicyDeniedError as error:
        refused.append((name, error.details["reason"]))
refused
"""


class Watched:
    """A registry whose providers say that they were called."""

    def __init__(self) -> None:
        self.called: list[str] = []
        self.registry = builtin_registry()

        @self.registry.capability("bank.pay", shown=("to",))
        async def pay(to: str, amount: int) -> str:
            self.called.append(to)
            return "paid"


def decisions(audit: MemoryAuditLog) -> list[DecisionMade]:
    return [event for event in audit.events if isinstance(event, DecisionMade)]


def test_what_is_withheld_is_asked_for_refused_and_recorded(tmp_path: Path) -> None:
    """The attempt reaches the broker, which decides as ever; no file is touched."""
    target = tmp_path / "kept.txt"
    target.write_text("as it was")
    audit = MemoryAuditLog()
    with Runtime({}, registry=builtin_registry(), audit=audit) as runtime:
        result = runtime.submit_learning(TRY_ALL.format(path=str(target))).result()
    reasons = [("write", "not_allowed"), ("delete", "not_allowed"), ("add", "not_allowed")]
    assert result.value == reasons
    assert [event.decision for event in decisions(audit)] == ["deny"] * 3
    assert not any(isinstance(event, OutcomeRecorded) for event in audit.events)
    assert target.read_text() == "as it was"


def test_no_provider_is_called_without_a_grant() -> None:
    """Not by any wrapper that learning adds, and not by a forged idempotency key either."""
    watched, audit = Watched(), MemoryAuditLog()
    code = (
        "for n in range(3):\n"
        "    try:\n"
        "        await caps.bank.pay.options(idempotency_key='k')(to='eve', amount=n)\n"
        "    except caps.PolicyDeniedError:\n"
        "        pass\n"
    )
    with Runtime({}, registry=watched.registry, audit=audit) as runtime:
        assert runtime.submit_learning(code).result().ok
    assert watched.called == []
    assert len(decisions(audit)) == 3


def test_what_the_policy_grants_works_as_usual() -> None:
    """Learning does not withhold granted capabilities."""
    with Runtime(
        {"allow": ["math.add"]}, registry=builtin_registry(), audit=MemoryAuditLog()
    ) as runtime:
        result = runtime.submit_learning("(await caps.math.add(a=1, b=2)).result").result()
    assert result.value == 3


@pytest.mark.parametrize("policy", [{}, {"deny": ["math.*"]}, {"allow": ["time.now"]}])
def test_a_refusal_that_is_not_caught_ends_the_code_as_usual(policy: dict[str, Any]) -> None:
    """Only the list of names is longer."""
    with Runtime(policy, registry=builtin_registry(), audit=MemoryAuditLog()) as runtime:
        result = runtime.submit_learning("await caps.math.add(a=1, b=2)").result()
    assert result.status.value == "policy_refused"


def test_the_log_says_which_executions_were_learned_from() -> None:
    """A normal run at the same time has no such mark, and sees nothing that is withheld."""
    audit, probe = MemoryAuditLog(), "hasattr(caps, 'math')"
    with Runtime({}, registry=builtin_registry(), audit=audit) as runtime:
        learned = runtime.submit_learning(probe).result()
        usual = runtime.run_sync(probe)
        with runtime.session_sync() as session:
            in_session = session.run(probe)
    assert (learned.value, usual.value, in_session.value) == (True, False, False)
    started = [event for event in audit.events if isinstance(event, ExecutionStarted)]
    assert [event.mode for event in started] == ["learn", None, None]


def test_the_policy_that_was_learned_lets_the_code_run(tmp_path: Path) -> None:
    """Round by round, each with what the one before it found."""
    (tmp_path / "notes.txt").write_text("milk")
    code = (
        f"text = (await caps.files.read(path={str(tmp_path / 'notes.txt')!r})).content\n"
        "len(text) + (await caps.math.add(a=1, b=2)).result"
    )
    registry = builtin_registry()
    policy: dict[str, Any] = {}
    seen = []
    for _ in range(3):
        audit = MemoryAuditLog()
        with Runtime(policy, registry=registry, audit=audit) as runtime:
            result = runtime.submit_learning(code).result()
        proposal = learn(registry, audit.records, directory=tmp_path)
        policy = proposal.policy
        seen.append((result.ok, policy["allow"]))
    assert seen == [
        (False, ["files.read"]),
        (False, ["files.read", "math.add"]),
        (True, ["files.read", "math.add"]),
    ]
    with Runtime(policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        assert runtime.run_sync(code).value == 7
