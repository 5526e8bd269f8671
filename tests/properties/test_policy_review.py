"""The tools that judge policies, held against the decision function over random policies."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from caps.security.policies.load import LoadedPolicy
from caps.security.policies.names import matching_rule
from caps.security.policy import SecurityPolicy
from caps.security.reasons import ReasonCode
from caps.security.request import Request
from caps.security.review.catalogue import written_form
from caps.security.review.diff import diff
from caps.security.review.explain import explain
from caps.security.review.learn import learn
from caps.security.review.lint import lint
from caps.security.review.replay import replay
from caps.security.review.width import Breadth
from support.policy_strategies import (
    NAMES,
    PATHS,
    REGISTRY,
    Call,
    calls,
    decide_call,
    loaded,
    policies,
    records_of,
    usage_after,
)

ABSOLUTE = [path for path in PATHS if path.startswith("/")]
# What each of these names is said to have no effect.
DEAD = {
    "shadowed-allow",
    "redundant-rule",
    "idle-deny",
    "idle-approve",
    "idle-rate",
    "idle-scope",
}


def patched(document: dict[str, Any], patch: list[dict[str, Any]]) -> dict[str, Any]:
    """`document` after an RFC 6902 patch; a plain one, which shares nothing with ours."""
    copy: dict[str, Any] = json.loads(json.dumps(document))
    for operation in patch:
        *way, last = operation["path"].split("/")[1:]
        target: Any = copy
        for step in way:
            target = target[int(step)] if isinstance(target, list) else target[step]
        if operation["op"] == "remove":
            target.pop(int(last) if isinstance(target, list) else last)
        elif isinstance(target, list):
            target.insert(len(target) if last == "-" else int(last), operation["value"])
        else:
            target[last] = operation["value"]
    return copy


@given(policies(), calls())
def test_what_explain_suggests_allows_the_call(policy: LoadedPolicy, call: Call) -> None:
    """The patch, applied by itself, gives a policy that allows it, and that diff calls wider."""
    found = explain(REGISTRY, policy, Request(call.capability, call.payload))
    assert found.decision == decide_call(policy, call)
    if found.decision.allowed:
        assert (found.changes, found.hopeless) == ((), None)
        return
    assert bool(found.changes) is (found.hopeless is None)
    if found.hopeless is not None:
        return
    operations = [operation for change in found.changes for operation in change.patch]
    document = patched(written_form(policy.policy), operations)
    changed = replace(policy, policy=SecurityPolicy.model_validate(document))
    assert decide_call(changed, call).allowed
    assert diff(REGISTRY, policy, changed).verdict.more


@given(policies(), calls())
def test_no_change_is_promised_for_what_no_policy_allows(policy: LoadedPolicy, call: Call) -> None:
    """A payload that does not fit, and a capability that does not exist, are hopeless."""
    widest = loaded(
        {
            "allow": ["files.*", "math.*", "time.*"],
            "scopes": {"files": {"allowlist": ["/"], "max_bytes": 64 * 1024 * 1024}},
        }
    )
    reason = decide_call(widest, call).reason.value
    found = explain(REGISTRY, policy, Request(call.capability, call.payload))
    if reason in ("payload_invalid", "unknown_capability"):
        assert found.hopeless is not None
        assert found.changes == ()


@given(policies())
def test_a_policy_is_the_same_as_itself(policy: LoadedPolicy) -> None:
    """Nothing differs."""
    found = diff(REGISTRY, policy, policy)
    assert (found.verdict, found.all) == (Breadth.SAME, ())


@given(policies(), policies())
def test_a_difference_seen_from_the_other_side(one: LoadedPolicy, other: LoadedPolicy) -> None:
    """Wider one way is narrower the other way."""
    there, back = diff(REGISTRY, one, other).verdict, diff(REGISTRY, other, one).verdict
    assert (there.more, there.less) == (back.less, back.more)


@given(
    policies(),
    policies(),
    st.lists(calls(ABSOLUTE), max_size=8),
    st.integers(0, 4),
    st.lists(st.sampled_from([*NAMES, "private"]), max_size=3),
)
def test_what_is_not_wider_allows_nothing_new(
    older: LoadedPolicy, newer: LoadedPolicy, made: list[Call], used: int, after: list[str]
) -> None:
    """A verdict without `more` is a promise about every call."""
    if diff(REGISTRY, older, newer).verdict.more:
        return
    granted = REGISTRY.terms_of(newer).chain.granted
    answered = [mark for mark in after if mark in (*granted, "private")]
    for call in made:
        if decide_call(newer, call, usage_after(newer, used, answered)).allowed:
            assert decide_call(older, call, usage_after(older, used, answered)).allowed


@given(policies())
def test_what_lint_calls_dead_can_go(policy: LoadedPolicy) -> None:
    """Taking out a rule without effect leaves everything as it was."""
    document = written_form(policy.policy)
    for found in lint(REGISTRY, policy):
        if found.code in DEAD:
            changed = patched(document, [{"op": "remove", "path": found.place}])
            assert diff(REGISTRY, policy, loaded(changed)).verdict is Breadth.SAME


@given(policies(), policies(), st.lists(calls(), max_size=6), st.booleans())
def test_replay_never_says_what_is_not_so(
    then: LoadedPolicy, now: LoadedPolicy, made: list[Call], known: bool
) -> None:
    """Its answer is the decision about the real payload, or `unknown`."""
    records = records_of(then, made, answered=True)
    under = then if known else None
    found = list(replay(REGISTRY, now, records, recorded_under=under))
    assert len(found) == len(made)
    for index, (one, call) in enumerate(zip(found, made, strict=True)):
        before = [made[n].capability for n in range(index) if found[n].observed.allowed]
        usage = usage_after(now, index, [*before, *one.observed.labels])
        decision = decide_call(now, call, usage)
        assert one.answer.allowed in (None, decision.allowed)
        rated = now.policy.limits.rate_for(call.capability) is not None
        asks = decision.reason is ReasonCode.APPROVAL_REQUIRED
        if not one.observed.hidden and not rated and not asks:
            assert one.answer.allowed is not None


@given(policies(), policies(), st.lists(calls(), max_size=6), st.booleans())
def test_learn_allows_what_was_asked_and_nothing_else(
    base: LoadedPolicy, other: LoadedPolicy, made: list[Call], known: bool
) -> None:
    """Every call that it does not leave out is allowed, and no capability that was not called.

    What the base asks an approval for still needs one.
    """
    records = records_of(base, made, mode="learn")
    found = learn(
        REGISTRY,
        records,
        base=base if known else None,
        directory=other.base,
    )
    policy = loaded(found.policy)
    REGISTRY.bind(policy)  # it fits what is registered, and its own tests pass
    assert set(policy.policy.allow) <= {call.capability for call in made}
    left_out = {seq for one in found.left_out for seq in one.records}
    for seq, call in enumerate(made, start=2):
        fits = decide_call(WIDE, call).reason.value != "payload_invalid"
        if seq not in left_out and fits and len(call.payload.get("content", "")) <= 1:
            approve = base.policy.approve if known else ()
            needs = matching_rule(approve, call.capability) is not None
            expected = ReasonCode.APPROVAL_REQUIRED if needs else ReasonCode.ALLOWED
            assert decide_call(policy, call).reason is expected


WIDE = loaded({"allow": ["files.*", "math.*", "time.*"], "scopes": {"files": {"allowlist": ["/"]}}})
