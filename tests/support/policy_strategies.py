"""Random policies over the built-in registry, calls, and the records that a log would hold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hypothesis import strategies as st

from caps.capabilities.broker.flow import FlowState
from caps.capabilities.grant import Grant
from caps.providers.builtin import builtin_registry
from caps.security.audit import (
    AuditRecord,
    DecisionMade,
    ExecutionEnded,
    ExecutionStarted,
    OutcomeRecorded,
    Redactor,
)
from caps.security.audit.model.records import (
    ApprovalRequested,
    AuditEvent,
    CallStatus,
    ExecutionStatus,
)
from caps.security.decision import Decision, decide
from caps.security.policies.flow_rules import labels_in, marks_after
from caps.security.policies.load import LoadedPolicy
from caps.security.policy import SecurityPolicy
from caps.security.request import NOTHING_USED, Request, Usage

REGISTRY = builtin_registry()
NAMES = sorted(REGISTRY.capabilities)
RULES = [*NAMES, "files.*", "math.*", "time.*"]
DIRECTORIES = ["/srv", "/srv/a", "/srv/a/b", "/etc", "/", "/data"]
PATHS = [
    "/srv/x",
    "/srv/a",
    "/srv/a/b",
    "/srv/a/b/x",
    "/etc/x",
    "/data/y/x",
    "/",
    "/srv/a/../x",
    "x",
    "a/x",
    "../x",
]
REDACTOR = Redactor(b"k" * 32)


@dataclass(frozen=True)
class Call:
    """A call as code makes it."""

    capability: str
    payload: dict[str, Any]


def loaded(document: dict[str, Any]) -> LoadedPolicy:
    """A policy whose relative paths start at `/base`."""
    return LoadedPolicy(SecurityPolicy.model_validate(document), "policy.json", Path("/base"))


def usage_after(policy: LoadedPolicy, calls: int, answered: Iterable[str]) -> Usage:
    """What was used by an execution that was answered these labels and functions."""
    marks = marks_after(_terms(policy.policy.sha256, policy).terms, answered)
    return Usage(calls, 0, (), past_deadline=False, answered=marks)


def decide_call(policy: LoadedPolicy, call: Call, usage: Usage = NOTHING_USED) -> Decision:
    """The decision of the broker."""
    terms = _terms(policy.policy.sha256, policy)
    return decide(terms, Request(call.capability, call.payload), usage)


_SEEN: dict[str, Grant] = {}


def _terms(sha256: str, policy: LoadedPolicy) -> Grant:
    if len(_SEEN) > 100:
        _SEEN.clear()
    if sha256 not in _SEEN:
        _SEEN[sha256] = REGISTRY.terms_of(policy)
    return _SEEN[sha256]


def rules() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(RULES), max_size=5, unique=True)


def scopes() -> st.SearchStrategy[dict[str, Any]]:
    files = st.fixed_dictionaries(
        {"allowlist": st.lists(st.sampled_from(DIRECTORIES), min_size=1, max_size=3)},
        optional={"read_only": st.booleans(), "max_bytes": st.sampled_from([1, 8, 4096])},
    )
    return st.one_of(st.just({}), files.map(lambda scope: {"files": scope}))


def flows() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rules about labels and functions, some of which ask."""
    marks = st.sampled_from(["private", "files.read", "files.*", "time.now", "math.*"])
    rule = st.tuples(
        st.lists(marks, min_size=1, max_size=2, unique=True),
        st.sampled_from(["deny", "deny", "approve"]),
        st.lists(st.sampled_from(RULES), min_size=1, max_size=2, unique=True),
    )
    return st.lists(rule, max_size=2).map(
        lambda found: [
            {"id": f"f{index}", "after": after, effect: targets}
            for index, (after, effect, targets) in enumerate(found)
        ]
    )


def policies() -> st.SearchStrategy[LoadedPolicy]:
    limits = st.fixed_dictionaries(
        {},
        optional={
            "calls": st.sampled_from([0, 1, 3, 1000]),
            "wall_ms": st.sampled_from([1000, 30_000]),
            "rates": st.dictionaries(
                st.sampled_from(RULES), st.sampled_from(["1/s", "60/min", "2/min"]), max_size=2
            ),
        },
    )
    documents = st.fixed_dictionaries(
        {"allow": rules(), "deny": rules().map(lambda r: r[:2]), "scopes": scopes()},
        optional={
            "approve": rules().map(lambda r: r[:1]),
            "limits": limits,
            "labels": st.dictionaries(st.sampled_from(RULES), st.just(["private"]), max_size=2),
            "flows": flows(),
        },
    )
    return documents.map(loaded)


def calls(paths: Iterable[str] = PATHS) -> st.SearchStrategy[Call]:
    path = st.sampled_from(list(paths))
    content = st.sampled_from(["", "x", "x" * 8, "x" * 100])
    look = st.builds(
        lambda name, where: Call(name, {"path": where}),
        st.sampled_from(["files.read", "files.list", "files.stat"]),
        path,
    )
    delete = st.builds(lambda where: Call("files.delete", {"path": where}), path)
    write = st.builds(
        lambda where, what: Call("files.write", {"path": where, "content": what}), path, content
    )
    number = st.sampled_from([1, 2.5, "no number"])
    add = st.builds(lambda a: Call("math.add", {"a": a, "b": 1}), number)
    others = st.sampled_from([Call("time.now", {}), Call("files.read", {}), Call("no.such", {})])
    return st.one_of(look, delete, write, add, others)


def records_of(
    policy: LoadedPolicy,
    made: Iterable[Call],
    *,
    mode: Literal["learn"] | None = None,
    status: ExecutionStatus = ExecutionStatus.OK,
    answered: bool = False,
) -> list[AuditRecord]:
    """The records of one execution that made these calls, each with its real decision.

    With `answered`, each call is answered before the next one, so that flow rules count.
    """
    who: dict[str, Any] = {"execution_id": "e1", "principal": "ada"}
    identity: dict[str, Any] = {
        "policy_id": policy.policy.id,
        "policy_sha256": policy.policy.sha256,
    }
    events: list[AuditEvent] = [
        ExecutionStarted(
            **who,
            **identity,
            source_sha256="",
            granted=[],
            withheld=[],
            isolation={},
            mode=mode,
            terms_sha256=_terms(policy.policy.sha256, policy).terms_sha256,
        )
    ]
    flow, count = FlowState(), 0
    for call in made:
        usage = Usage(count, 0, (), past_deadline=False, answered=flow.answered)
        decided = _decision(policy, call, usage, {**who, **identity})
        events.append(decided)
        count += 1
        if answered and decided.decision == "allow":
            labels = decide_call(policy, call, usage).labels
            events.append(_outcome(decided, labels))
            flow.add(call.capability, labels)
    ended = ExecutionEnded(
        **who, status=status, duration_us=7000, calls=count, output_bytes=5, cpu_us=900
    )
    return [
        AuditRecord(seq=seq, ts=f"2025-01-01T00:00:00.{seq:06d}Z", prev="", hash="", event=event)
        for seq, event in enumerate([*events, ended], start=1)
    ]


def _decision(policy: LoadedPolicy, call: Call, usage: Usage, who: dict[str, Any]) -> DecisionMade:
    decision = decide_call(policy, call, usage)
    entry = REGISTRY.capabilities.get(call.capability)
    redacted = REDACTOR.split(call.payload, entry.spec.shown if entry else ())
    return DecisionMade(
        **who,
        request_id=f"r{usage.calls}",
        capability=call.capability,
        decision="allow" if decision.allowed else "deny",
        reason=decision.reason.value,
        rule=decision.rule,
        message=decision.message,
        args_hmac=redacted.args_hmac,
        shown=redacted.shown,
        hidden=redacted.hidden,
        labels=list(labels_in(usage.answered)),
    )


def _outcome(decided: DecisionMade, labels: frozenset[str]) -> OutcomeRecorded:
    return OutcomeRecorded(
        execution_id=decided.execution_id,
        principal=decided.principal,
        request_id=decided.request_id,
        capability=decided.capability,
        status=CallStatus.OK,
        duration_us=1,
        bytes_out=1,
        labels=sorted(labels),
    )


def approval_request_for(event: DecisionMade) -> ApprovalRequested:
    """The record that precedes the approval of a call."""
    return ApprovalRequested(
        execution_id=event.execution_id,
        principal=event.principal,
        approval=f"a-{event.request_id}",
        request_id=event.request_id,
        capability=event.capability,
        rule=event.capability,
        policy_id=event.policy_id,
        policy_sha256=event.policy_sha256,
        args_hmac=event.args_hmac,
        shown=event.shown,
        hidden=event.hidden,
        timeout_ms=300_000,
    )
