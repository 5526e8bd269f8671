"""`replay`: which recorded decisions another policy changes, and what cannot be known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from caps.capabilities.registry import CapabilityRegistry
from caps.security.audit import AuditRecord, DecisionMade, ExecutionStarted
from caps.security.policies.load import LoadedPolicy
from caps.security.review.replay import Flip, Replayed, replay
from caps.security.scopes import Scope, Violation
from support.policy_strategies import REGISTRY, Call, approval_request_for, loaded, records_of

FILES: dict[str, Any] = {
    "allow": ["files.read", "files.write"],
    "scopes": {"files": {"allowlist": ["/srv"], "max_bytes": 10}},
}
READ = Call("files.read", {"path": "/srv/x"})
WRITE = Call("files.write", {"path": "/srv/x", "content": "12345"})
ADD = Call("math.add", {"a": 1, "b": 2})


def replayed(
    then: dict[str, Any], now: dict[str, Any], *calls: Call, **more: Any
) -> list[Replayed]:
    return list(replay(REGISTRY, loaded(now), records_of(loaded(then), calls), **more))


def turn_of(then: dict[str, Any], now: dict[str, Any], call: Call, **more: Any) -> Flip:
    (one,) = replayed(then, now, call, **more)
    return one.turn


def with_scope(**scope: Any) -> dict[str, Any]:
    return {**FILES, "scopes": {"files": {**FILES["scopes"]["files"], **scope}}}


def test_the_same_policy_turns_nothing() -> None:
    """Whatever is hidden."""
    assert turn_of(FILES, FILES, WRITE) is Flip.SAME


RELATIVE = with_scope(allowlist=["./data"])


def moved(document: dict[str, Any]) -> LoadedPolicy:
    """The same file in another directory."""
    return replace(loaded(document), base=Path("/other"))


def test_the_same_file_elsewhere_is_another_policy() -> None:
    """Its digest is the same, and its relative paths lead to other places."""
    call = Call("files.read", {"path": "/base/data/x"})
    records = records_of(loaded(RELATIVE), [call])
    assert [one.turn for one in replay(REGISTRY, loaded(RELATIVE), records)] == [Flip.SAME]
    (one,) = replay(REGISTRY, moved(RELATIVE), records)
    assert (one.turn, one.answer.reason) == (Flip.TO_DENY, "scope_violation")
    then = loaded(RELATIVE)
    write = Call("files.write", {"path": "/base/data/x", "content": "12345"})
    records = records_of(then, [write])
    settled = replay(REGISTRY, loaded(with_scope(allowlist=["/"])), records, recorded_under=then)
    assert [one.turn for one in settled] == [Flip.SAME]
    settled = replay(
        REGISTRY, loaded(with_scope(allowlist=["/"])), records, recorded_under=moved(RELATIVE)
    )
    assert [one.turn for one in settled] == [Flip.UNKNOWN]


def test_a_log_that_does_not_say_where_is_judged_by_its_arguments() -> None:
    """Unless no scope of the policy depends on it."""

    def unnamed(document: dict[str, Any], call: Call) -> list[AuditRecord]:
        return [
            msgspec.structs.replace(
                record, event=msgspec.structs.replace(record.event, terms_sha256=None)
            )
            if isinstance(record.event, ExecutionStarted)
            else record
            for record in records_of(loaded(document), [call])
        ]

    write = Call("files.write", {"path": "data", "content": "12345"})
    (one,) = replay(REGISTRY, moved(RELATIVE), unnamed(RELATIVE, write))
    assert one.turn is Flip.UNKNOWN
    (one,) = replay(REGISTRY, moved(FILES), unnamed(FILES, write))
    assert (one.turn, one.answer.why) == (Flip.SAME, "it is the same policy")


def test_a_rule_that_is_gone_turns_an_allow() -> None:
    """What withholds a capability needs no argument."""
    (one,) = replayed(FILES, {"allow": ["time.now"]}, WRITE)
    assert (one.turn, one.answer.reason) == (Flip.TO_DENY, "not_allowed")


def test_a_new_rule_turns_a_denial_if_all_is_shown() -> None:
    """The path is in the log, and it is all that there is."""
    assert turn_of({}, FILES, READ) is Flip.TO_ALLOW


def test_a_call_that_waited_counts_from_when_it_began() -> None:
    """Its decision is on record after those of calls that came later."""
    first, second = Call("math.add", {"a": 1, "b": 1}), Call("time.now", {})
    start, asked, other, end = records_of(loaded({"allow": ["math.*", "time.*"]}), [first, second])
    assert isinstance(asked.event, DecisionMade)
    waits = msgspec.structs.replace(asked, event=approval_request_for(asked.event))
    log = [start, waits, other, asked, end]
    bounded = {"allow": ["math.*", "time.*"], "limits": {"calls": 1}}
    found = {
        one.observed.capability: one.answer.reason
        for one in replay(REGISTRY, loaded(bounded), log, assume_valid=True)
    }
    assert found == {"math.add": "allowed", "time.now": "calls_exceeded"}
    crowded = {"allow": ["math.*", "time.*"], "limits": {"concurrency": 1}}
    turns = {
        one.observed.capability: one.turn
        for one in replay(REGISTRY, loaded(crowded), log, assume_valid=True)
    }
    assert turns == {"math.add": Flip.SAME, "time.now": Flip.UNKNOWN}


def test_a_repeat_that_may_have_waited_is_not_counted_for_certain() -> None:
    """Its decision waits for that of the first, so when it came is not known."""
    first, repeat = Call("math.add", {"a": 1, "b": 1}), Call("math.add", {"a": 1, "b": 1})
    start, asked, again, end = records_of(loaded({"allow": ["math.*"]}), [first, repeat])
    assert isinstance(asked.event, DecisionMade)
    waits = msgspec.structs.replace(asked, event=approval_request_for(asked.event))
    keyed = msgspec.structs.replace(again.event, idempotency_key_hmac="hmac-sha256:0")
    log = [start, waits, asked, msgspec.structs.replace(again, event=keyed), end]
    bounded = {"allow": ["math.*"], "limits": {"calls": 1}}
    one, other = replay(REGISTRY, loaded(bounded), log, assume_valid=True)
    assert (one.turn, other.turn) == (Flip.SAME, Flip.UNKNOWN)
    assert "`limits.calls` may have been reached" in other.answer.why


def test_a_scope_is_held_against_what_is_shown() -> None:
    """Outside is a certain refusal, also of a call that hides its content."""
    elsewhere = with_scope(allowlist=["/data"])
    assert turn_of(FILES, elsewhere, READ) is Flip.TO_DENY
    assert turn_of(FILES, elsewhere, WRITE) is Flip.TO_DENY
    assert turn_of(FILES, with_scope(read_only=True), WRITE) is Flip.TO_DENY


def test_what_hangs_on_a_hidden_argument_is_unknown() -> None:
    """The size of the content is not in the log, and nothing is guessed."""
    (one,) = replayed(FILES, with_scope(max_bytes=7), WRITE)
    assert one.turn is Flip.UNKNOWN
    assert one.answer.why == "`max_bytes` may refuse `content`"


def test_the_policy_that_decided_settles_what_is_hidden() -> None:
    """A bound that did not become smaller lets through what it let through then."""
    then = loaded(FILES)
    assert turn_of(FILES, with_scope(max_bytes=11), WRITE, recorded_under=then) is Flip.SAME
    assert turn_of(FILES, with_scope(max_bytes=9), WRITE, recorded_under=then) is Flip.UNKNOWN
    other = loaded(with_scope(max_bytes=3))
    assert turn_of(FILES, with_scope(max_bytes=11), WRITE, recorded_under=other) is Flip.UNKNOWN


def test_a_size_that_was_refused_stays_refused_under_a_smaller_bound() -> None:
    """And may pass under a larger one."""
    small = with_scope(max_bytes=3)
    then = loaded(small)
    assert turn_of(small, with_scope(max_bytes=2), WRITE, recorded_under=then) is Flip.SAME
    assert turn_of(small, FILES, WRITE, recorded_under=then) is Flip.UNKNOWN


def test_a_payload_that_nobody_looked_at_may_not_fit() -> None:
    """It was refused before the schema was checked, and its arguments are hidden."""
    now = {"allow": ["math.add"]}
    (one,) = replayed({}, now, ADD)
    assert one.turn is Flip.UNKNOWN
    assert one.answer.why == "`a`, `b` may not fit the schema"
    assert turn_of({}, now, ADD, assume_valid=True) is Flip.TO_ALLOW


def test_a_payload_that_did_not_fit_never_fits() -> None:
    """No policy changes that."""
    bad = Call("math.add", {"a": "x", "b": 2})
    assert turn_of({"allow": ["math.*"]}, {"allow": ["math.add"]}, bad) is Flip.SAME


def test_a_shown_payload_that_does_not_fit_is_refused() -> None:
    """An argument that is missing is seen to be missing."""
    assert turn_of({}, FILES, Call("files.read", {})) is Flip.SAME


def test_calls_are_counted_again() -> None:
    """The second call is over a limit of one."""
    then, now = {"allow": ["time.now"]}, {"allow": ["time.now"], "limits": {"calls": 1}}
    clock = Call("time.now", {})
    assert [one.turn for one in replayed(then, now, clock, clock)] == [Flip.SAME, Flip.TO_DENY]


@pytest.mark.parametrize(
    ("limits", "turns"),
    [
        ({"rates": {"time.now": "2/s"}}, [Flip.SAME, Flip.SAME]),
        ({"rates": {"time.now": "1/s"}}, [Flip.SAME, Flip.UNKNOWN]),
        ({"concurrency": 1}, [Flip.SAME, Flip.UNKNOWN]),
    ],
)
def test_a_limit_that_hangs_on_time_is_unknown_where_it_may_be_reached(
    limits: dict[str, Any], turns: list[Flip]
) -> None:
    """The log has times, but not those that counted."""
    then, now = {"allow": ["time.now"]}, {"allow": ["time.now"], "limits": limits}
    clock = Call("time.now", {})
    assert [one.turn for one in replayed(then, now, clock, clock)] == turns


def test_a_capability_that_is_gone() -> None:
    """Refused, whatever was decided when it existed."""
    records = records_of(loaded({"allow": ["time.now"]}), [Call("time.now", {})])
    (one,) = replay(CapabilityRegistry(), loaded({}), records)
    assert (one.turn, one.answer.reason) == (Flip.TO_DENY, "unknown_capability")


@pytest.mark.parametrize("path", ["/srv/" + "x" * 2000, "/srv/\\udcff"])
def test_a_text_that_the_log_could_not_keep_counts_as_hidden(path: str) -> None:
    """It was cut, or may represent something that is not a string."""
    records = records_of(loaded({}), [Call("files.read", {"path": path})])
    (one,) = replay(REGISTRY, loaded(FILES), records)
    assert one.observed.hidden == {"path"}
    assert one.turn is Flip.UNKNOWN


class Hosts(Scope):
    """A scope that does not declare which arguments it reads, and relies on all of them."""

    hosts: list[str]

    def violation(self, function: str, payload: Any) -> Violation | None:
        ok = payload["host"] in self.hosts and payload["body"] != "bad"
        return None if ok else Violation("hosts", "another host")


def test_a_scope_that_says_nothing_of_itself() -> None:
    """Any hidden argument may matter to it; that it fails without one proves nothing."""
    registry = CapabilityRegistry()
    registry.domain("web", scope=Hosts)

    @registry.capability("web.post", shown=("host",))
    async def post(host: str, body: str) -> str:
        return host

    record = records_of(loaded({"allow": ["time.now"]}), [Call("time.now", {})])[1]
    assert isinstance(record.event, DecisionMade)
    event = msgspec.structs.replace(
        record.event, capability="web.post", shown={"host": "b"}, hidden={"body": "hmac"}
    )
    changed: AuditRecord = msgspec.structs.replace(record, event=event)
    now = loaded({"allow": ["web.post"], "scopes": {"web": {"hosts": ["b"]}}})
    (one,) = replay(registry, now, [changed])
    assert one.turn is Flip.UNKNOWN
    assert "the scope may refuse `body`" in one.answer.why
