"""`learn`: the smallest policy for what was called, and the evidence for each part of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from caps.security.audit.model.records import (
    AuditRecord,
    DecisionMade,
    ExecutionEnded,
    ExecutionStatus,
)
from caps.security.review.learn import Proposal, learn
from caps.security.review.suggest_limits import rounded_up
from support.policy_strategies import REGISTRY, Call, approval_request_for, loaded, records_of

OPEN: dict[str, Any] = {
    "allow": ["files.*", "math.*", "time.*"],
    "scopes": {"files": {"allowlist": ["/"]}},
}


def read(path: str) -> Call:
    return Call("files.read", {"path": path})


def learned(
    then: dict[str, Any],
    *calls: Call,
    base: bool = False,
    include_denied: bool = False,
    **recorded: Any,
) -> Proposal:
    policy = loaded(then)
    found = learn(
        REGISTRY,
        records_of(policy, calls, **recorded),
        base=policy if base else None,
        directory=policy.base,
        include_denied=include_denied,
    )
    REGISTRY.bind(loaded(found.policy))
    return found


def test_exact_capabilities_and_the_nearest_directories() -> None:
    """No wildcard, and no parent directory that was not used."""
    found = learned(OPEN, read("/srv/a/1"), read("/srv/a/2"), read("/srv/b/1"))
    assert found.policy["allow"] == ["files.read"]
    assert found.policy["scopes"]["files"]["allowlist"] == ["/srv/a", "/srv/b"]
    assert found.policy["scopes"]["files"]["read_only"] is True


def test_each_part_names_its_records() -> None:
    """Counts, the sequence numbers, and examples."""
    found = learned(OPEN, read("/srv/a/1"), read("/srv/a/1"), read("/srv/b/1"))
    evidence = {one.place: one for one in found.evidence}
    assert (evidence["/allow/0"].count, evidence["/allow/0"].records) == (3, (2, 3, 4))
    entry = evidence["/scopes/files/allowlist/0"]
    assert (entry.value, entry.count, entry.records) == ("/srv/a", 2, (2, 3))
    assert entry.examples == ("files.read(path='/srv/a/1')",)


def test_a_directory_within_another_is_one() -> None:
    """The outer one holds both."""
    found = learned(OPEN, read("/srv/x"), read("/srv/a/b/x"))
    assert found.policy["scopes"]["files"]["allowlist"] == ["/srv"]


def test_very_many_directories_become_their_parents() -> None:
    """But never the root of all."""
    found = learned(OPEN, *(read(f"/srv/d{n}/x") for n in range(40)))
    assert found.policy["scopes"]["files"]["allowlist"] == ["/srv"]
    apart = learned(OPEN, *(read(f"/d{n}/x") for n in range(40)))
    assert "/" not in apart.policy["scopes"]["files"]["allowlist"]


def test_relative_paths_stay_where_they_were() -> None:
    """Beneath the first directory of the policy that they ran under, if it is known."""
    then = {"allow": ["files.read"], "scopes": {"files": {"allowlist": ["./box", "/data"]}}}
    calls = (read("notes/x"), read("/base/box/y"), read("/data/z/x"))
    known = learned(then, *calls, base=True).policy["scopes"]["files"]["allowlist"]
    assert known == ["/base/box", "/data/z"]
    assert learned(then, calls[0]).policy["scopes"]["files"]["allowlist"] == ["."]


def test_changing_is_in_the_scope_only_if_something_changed() -> None:
    """And the calls that changed it are the evidence."""
    found = learned(OPEN, read("/srv/x"), Call("files.delete", {"path": "/srv/y"}))
    (part,) = [one for one in found.evidence if one.place == "/scopes/files/read_only"]
    assert (part.value, part.records) == (False, (3,))


def test_refusals_count_only_where_the_code_ran_to_be_learned_from() -> None:
    """In any other log they may be attacks."""
    asked = (read("/etc/shadow"),)
    usual = learned({}, *asked)
    assert usual.policy["allow"] == []
    assert [one.count for one in usual.left_out] == [1]
    assert learned({}, *asked, mode="learn").policy["allow"] == ["files.read"]
    assert learned({}, *asked, include_denied=True).policy["allow"] == ["files.read"]


def test_what_a_rule_denies_is_never_proposed() -> None:
    """The rule is kept."""
    then = {"deny": ["files.delete"]}
    call = Call("files.delete", {"path": "/srv/x"})
    found = learned(then, call, mode="learn", base=True)
    assert (found.policy["allow"], found.policy["deny"]) == ([], ["files.delete"])
    (left,) = found.left_out
    assert (left.capability, left.records) == ("files.delete", (2,))


@pytest.mark.parametrize(
    "call", [Call("no.such", {}), read("../x"), Call("files.write", {"path": "/", "content": ""})]
)
def test_what_no_policy_allows_leaves_no_rule_behind(call: Call) -> None:
    """It is left out, with its records."""
    found = learned({}, call, mode="learn")
    assert (found.policy["allow"], found.policy["scopes"]) == ([], {})
    assert [(one.capability, one.records) for one in found.left_out] == [(call.capability, (2,))]


def test_the_tests_are_the_calls_that_the_log_shows_in_full() -> None:
    """And calls that must not pass: outside of the scope, and the rest of the domain."""
    write = Call("files.write", {"path": "/srv/a/y", "content": "secret"})
    found = learned(OPEN, read("/srv/a/x"), write)
    tests = [(test["call"], test["expect"]) for test in found.policy["tests"]]
    assert tests == [
        ("files.read", "allow"),
        ("files.read", "deny"),
        *((f"files.{name}", "deny") for name in "copy delete glob grep list move stat".split()),
    ]
    assert "no test of `files.write`, for the log hides its arguments" in found.notes
    assert "secret" not in str(found)


def test_limits_are_what_was_used_with_a_margin() -> None:
    """Of executions that had no refused call."""
    found = learned(OPEN, *[Call("time.now", {})] * 40)
    assert found.policy["limits"]["calls"] == 100
    assert found.policy["limits"]["wall_ms"] == 1000  # not below what a machine may need
    (part,) = [one for one in found.evidence if one.place == "/limits/calls"]
    assert part.records == (42,)


@pytest.mark.parametrize(
    ("then", "status"),
    [(OPEN, ExecutionStatus.CODE_FAILED), ({"allow": []}, ExecutionStatus.OK)],
)
def test_limits_are_not_learned_from_half_a_run(
    then: dict[str, Any], status: ExecutionStatus
) -> None:
    """What it would have used is unknown; the limits of its policy stay."""
    bounded = {**then, "limits": {"calls": 77}}
    found = learned(bounded, Call("time.now", {}), base=True, mode="learn", status=status)
    assert found.policy["limits"] == {"calls": 77}
    assert any("limits are not learned" in note for note in found.notes)


def test_an_approval_is_kept() -> None:
    """What a person had to approve is proposed only with that."""
    then = {"allow": ["time.now"], "approve": ["time.now", "math.add"]}
    found = learned(then, Call("time.now", {}), base=True, mode="learn")
    assert (found.policy["allow"], found.policy["approve"]) == (["time.now"], ["time.now"])


def waiting(records: list[AuditRecord], *seqs: int, seconds: int = 60) -> list[AuditRecord]:
    """The same log, where a person approved the calls with these numbers after some time."""
    found: list[AuditRecord] = []
    for record in records:
        event = record.event
        ts = record.ts if record.seq < min(seqs) else record.ts.replace(":00.", f":{seconds - 1}.")
        if record.seq in seqs:
            assert isinstance(event, DecisionMade)
            found.insert(
                min(seqs) - 1,
                AuditRecord(
                    seq=0, ts=record.ts, prev="", hash="", event=approval_request_for(event)
                ),
            )
            event = msgspec.structs.replace(
                event, decision="allow", reason="allowed", approval=f"a-{event.request_id}"
            )
        elif isinstance(event, ExecutionEnded):
            duration = event.duration_us + (seconds - 1) * 1_000_000
            event = msgspec.structs.replace(event, duration_us=duration)
        found.append(msgspec.structs.replace(record, ts=ts, event=event))
    return found


def test_what_a_person_approved_is_learned_with_the_approval() -> None:
    """Also from a log alone, without the policy that required it."""
    then = loaded({**OPEN, "approve": ["files.read"]})
    records = waiting(records_of(then, [read("/srv/x"), Call("time.now", {})]), 2)
    found = learn(REGISTRY, records, directory=then.base)
    assert found.policy["allow"] == ["files.read", "time.now"]
    assert found.policy["approve"] == ["files.read"]
    (part,) = [one for one in found.evidence if one.place == "/approve/0"]
    assert (part.because, part.records) == ("a person approved it", (2,))


def test_the_time_that_a_person_took_is_not_the_codes() -> None:
    """`wall_ms` stands still meanwhile, so it is not learned from that."""
    then = loaded({**OPEN, "approve": ["files.read"]})
    records = waiting(records_of(then, [read("/srv/x"), read("/srv/y")]), 2, 3)
    found = learn(REGISTRY, records, directory=then.base)
    assert found.policy["limits"]["wall_ms"] == 1000
    assert found.policy["limits"]["concurrency"] == 5  # they waited together


def test_no_limit_becomes_wider_than_it_was() -> None:
    """A margin must not give more than was enough; modules stay as they are."""
    limits = {"calls": 41, "wall_ms": 50, "memory_mb": 32, "output_bytes": 6, "concurrency": 1}
    then = {**OPEN, "limits": limits, "modules": ["numpy"]}
    found = learned(then, *[Call("time.now", {})] * 40, base=True)
    assert {name: found.policy["limits"][name] for name in limits} == limits
    assert found.policy["modules"] == ["numpy"]


@pytest.mark.parametrize(("number", "rounded"), [(0, 1), (1, 1), (3, 5), (6, 10), (11, 20)])
def test_numbers_are_rounded_up(number: int, rounded: int) -> None:
    """To 1, 2 or 5 times a power of ten."""
    assert rounded_up(number) == rounded
