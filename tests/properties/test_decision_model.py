"""(6) The decision against a model of it that is too plain to be wrong, over random worlds.

The model reads the policy as raw JSON and checks each rule alone; it shares no code with what
it judges. In addition there are properties that must hold for any rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from hypothesis import event, given
from hypothesis import strategies as st

from caps.security.decision import Decision, decide, evaluate_terms
from caps.security.policies.flow_rules import BoundFlow
from caps.security.policies.load import load_policy
from caps.security.policy import Limits, Rate, SecurityPolicy
from caps.security.reasons import Problem
from caps.security.request import ApprovalUse, KeyUse, Request, Usage
from caps.security.scopes import Scope, Violation
from caps.security.terms import CapabilityTerms
from support.hypothesis_examples import examples

EXAMPLES = examples(300)

DOMAINS = ("files", "time", "web")
NAMES = tuple(f"{domain}.{function}" for domain in DOMAINS for function in ("read", "write"))
RULES = (*NAMES, *(f"{domain}.*" for domain in DOMAINS))
SCOPED_DOMAINS = ("files", "web")  # the domains that declare a scope model
# What a payload does when it is checked.
FITS, MISFIT, OUTSIDE, SCHEMA_RAISES, SCOPE_RAISES = range(5)


class Watched(Scope):
    """A scope whose answer is written in the payload."""

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        if payload["kind"] == SCOPE_RAISES:
            raise RuntimeError(function)
        return Violation("key", "outside") if payload["kind"] == OUTSIDE else None


@dataclass(frozen=True, slots=True)
class Terms:
    name: str
    rule: str | None
    withheld: Any
    scope: Scope | None
    rate: Rate | None
    approve: str | None
    dry_run: str | None
    flows: tuple[BoundFlow, ...]
    labels: frozenset[str]

    def problems_in(self, payload: Mapping[str, Any]) -> tuple[Problem, ...]:
        if payload["kind"] == SCHEMA_RAISES:
            raise RuntimeError(self.name)
        return (Problem("a", "b", "c"),) if payload["kind"] == MISFIT else ()


@dataclass(frozen=True, slots=True)
class Grant:
    policy_id: str
    policy_sha256: str
    limits: Limits
    terms: Mapping[str, CapabilityTerms]
    revoked: frozenset[str]
    uncarded: frozenset[str] = frozenset()

    @property
    def links(self) -> tuple[Grant, ...]:
        return (self,)


@dataclass(frozen=True, slots=True)
class World:
    """A policy as JSON, what is registered, what was revoked or has no card, and one request."""

    source: dict[str, Any]
    registered: frozenset[str]
    revoked: frozenset[str]
    uncarded: frozenset[str]
    request: Request
    usage: Usage

    def decision(self) -> Decision:
        policy = load_policy(self.source).policy
        grant = bound(policy, self.registered, self.revoked)
        return decide(replace(grant, uncarded=self.uncarded), self.request, self.usage)


def bound(policy: SecurityPolicy, registered: frozenset[str], revoked: frozenset[str]) -> Grant:
    """A policy applied to a registry."""
    terms: dict[str, CapabilityTerms] = {}
    for name in registered:
        domain = name.split(".")[0]
        given_scope = policy.scope_of(domain)
        scoped = domain in SCOPED_DOMAINS
        rule, withheld = evaluate_terms(policy, name, scoped, given_scope is not None)
        scope = Watched() if scoped and given_scope is not None else None
        verdict, rate = policy.verdict(name), policy.limits.rate_for(name)
        flows = tuple(
            BoundFlow(flow.id, frozenset(flow.after), bool(flow.approve))
            for flow in policy.flows
            if flow.covers(name, egress=name in EGRESS)
        )
        rules = (verdict.approve, verdict.dry_run, flows, policy.labels_of(name))
        terms[name] = Terms(name, rule, withheld, scope, rate, *rules)
    return Grant(policy.id, policy.sha256, policy.limits, terms, revoked)


def enforced(source: dict[str, Any]) -> list[str]:
    """The `deny` rules that are in force: those that are written as plain text."""
    return [rule for rule in source["deny"] if isinstance(rule, str)]


def tried(source: dict[str, Any]) -> list[str]:
    """The `deny` rules in dry run."""
    return [rule["rule"] for rule in source["deny"] if isinstance(rule, dict)]


def model(world: World) -> str:
    """The reason that the request should be decided with. Every rule, one after the other."""
    source, usage, name = world.source, world.usage, world.request.capability
    domain = name.split(".")[0]
    kind = world.request.payload["kind"]
    default = {"calls": 1000, "concurrency": 64, "rates": {}, "cost": 1e9}
    limits = {**default, **source["limits"]}
    in_window = sum(usage.in_rate_windows)
    scoped = domain in SCOPED_DOMAINS
    answer = usage.approval.value

    def covered(rules: Any) -> bool:
        return any(rule in (name, f"{domain}.*") for rule in rules)

    def rate() -> float:
        for rule in (name, f"{domain}.*"):
            if rule in limits["rates"]:
                return int(limits["rates"][rule].split("/")[0])
        return float("inf")

    def flowing(effect: str) -> bool:
        for flow in source["flows"]:
            targets = [*flow.get(effect, ())]
            hit = covered(targets) or ("egress" in targets and name in EGRESS)
            if hit and all(mark in usage.answered for mark in flow["after"]):
                return True
        return False

    def asks() -> bool:
        return covered(source["approve"]) or flowing("approve")

    verdicts = [
        (name not in world.registered, "unknown_capability"),
        (covered(enforced(source)), "denied_by_rule"),
        (not covered(source["allow"]), "not_allowed"),
        (scoped and domain not in source["scopes"], "scope_missing"),
        (name in world.revoked, "revoked"),
        (name in world.uncarded, "tool_card_invalid"),
        (usage.past_deadline, "deadline_passed"),
        (usage.calls + 1 > limits["calls"], "calls_exceeded"),
        (usage.in_flight + 1 > limits["concurrency"], "concurrency_exceeded"),
        (usage.cost > limits["cost"] and usage.key is not KeyUse.REPEAT, "cost_exceeded"),
        (usage.key is not KeyUse.REPEAT and in_window + 1 > rate(), "rate_exceeded"),
        (usage.key is KeyUse.CONFLICT, "payload_invalid"),
        (kind == SCHEMA_RAISES, "internal_error"),
        (kind == MISFIT, "payload_invalid"),
        (scoped and kind == SCOPE_RAISES, "internal_error"),
        (scoped and kind == OUTSIDE, "scope_violation"),
        (flowing("deny"), "flow_denied"),
        (usage.key is KeyUse.REPEAT, "allowed"),
        (asks() and answer == "none", "approval_required"),
        (asks() and answer == "denied", "approval_denied"),
        (asks() and answer == "timed_out", "approval_timeout"),
    ]
    return next((reason for applies, reason in verdicts if applies), "allowed")


rules = st.lists(st.sampled_from(RULES), max_size=3)
trials = st.sampled_from(RULES) | st.builds(
    lambda rule: {"rule": rule, "mode": "dry_run"}, st.sampled_from(RULES)
)
APPROVAL_REASONS = ("approval_required", "approval_denied", "approval_timeout")
MARKS = ("private", "untrusted", "files.read", "files.*", "web.*")
EGRESS = ("web.read", "web.write")  # the functions whose specification says so
flows = st.builds(
    lambda after, effect, targets: {"after": after, effect: targets},
    st.lists(st.sampled_from(MARKS), min_size=1, max_size=2, unique=True),
    st.sampled_from(["deny", "approve"]),
    st.lists(st.sampled_from([*RULES, "egress"]), min_size=1, max_size=2, unique=True),
)
flow_lists = st.lists(flows, max_size=3).map(
    lambda found: [{"id": f"f{index}", **flow} for index, flow in enumerate(found)]
)
ALL_DOMAINS = [f"{domain}.*" for domain in DOMAINS]
ALL_SCOPES = {domain: {"any": 1} for domain in SCOPED_DOMAINS}


def mostly(usual: Any, others: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Skewed to what lets a request pass, so that the later rules get their turn too."""
    return st.integers(0, 4).flatmap(lambda n: others if n == 4 else st.just(usual))


policies = st.fixed_dictionaries(
    {
        "allow": mostly(ALL_DOMAINS, st.lists(st.sampled_from(RULES), max_size=9)),
        "deny": mostly([], rules | st.lists(trials, max_size=3)),
        "approve": mostly([], rules),
        "flows": flow_lists,
        "scopes": mostly(
            ALL_SCOPES, st.dictionaries(st.sampled_from(DOMAINS), st.just({"any": 1}), max_size=3)
        ),
        "limits": st.fixed_dictionaries(
            {},
            optional={
                "calls": mostly(5, st.integers(0, 4)),
                "concurrency": mostly(6, st.integers(1, 4)),
                "cost": mostly(5.0, st.sampled_from([0, 0.5, 2.5])),
                "rates": st.dictionaries(
                    st.sampled_from(RULES), st.sampled_from(["1/s", "2/min", "3/day"]), max_size=3
                ),
            },
        ),
    }
)
answers = st.frozensets(st.sampled_from(MARKS))
usages = st.builds(
    Usage,
    calls=st.integers(0, 5),
    in_flight=st.integers(0, 5),
    in_rate_windows=st.tuples(st.integers(0, 4)),
    past_deadline=mostly(False, st.just(True)),
    approval=st.sampled_from(ApprovalUse),
    answered=answers,
    key=mostly(KeyUse.FRESH, st.sampled_from(KeyUse)),
    cost=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)
names = st.sampled_from(NAMES)
worlds = st.builds(
    World,
    source=policies,
    registered=mostly(frozenset(NAMES), st.frozensets(names)),
    revoked=mostly(frozenset[str](), st.frozensets(names, max_size=2)),
    uncarded=mostly(frozenset[str](), st.frozensets(names, max_size=2)),
    request=st.builds(
        Request,
        capability=names,
        payload=st.fixed_dictionaries({"kind": st.integers(FITS, SCOPE_RAISES)}),
    ),
    usage=st.just(Usage(0, 0, (), False))
    | st.builds(lambda marks: Usage(0, 0, (), False, answered=marks), answers)
    | usages,
)


@examples(2000)
@given(worlds)
def test_every_decision_is_the_one_of_the_model(world: World) -> None:
    """Policies, registries, requests and usages at random: both always give the same reason."""
    decision = world.decision()
    event(decision.reason)
    assert decision.reason == model(world)
    assert decision.allowed is (decision.reason == "allowed")


@EXAMPLES
@given(worlds)
def test_an_allow_names_an_allow_rule_that_covers_the_request(world: World) -> None:
    """The evidence of an allow can be checked against the policy by eye."""
    decision = world.decision()
    if decision.allowed:
        assert decision.rule in world.source["allow"]
        domain = world.request.capability.split(".")[0]
        assert decision.rule in (world.request.capability, f"{domain}.*")
    assert decision.policy_sha256 == load_policy(world.source).policy.sha256


@EXAMPLES
@given(worlds)
def test_a_rule_in_dry_run_turns_nothing_and_is_named_where_it_would_have(world: World) -> None:
    """Without such rules every decision is the same; with them enforced, the named are refused."""
    decision = world.decision()
    plain = changed(world, deny=enforced(world.source)).decision()
    assert (decision.allowed, decision.reason) == (plain.allowed, plain.reason)
    strict = changed(world, deny=[*enforced(world.source), *tried(world.source)]).decision()
    turned = decision.allowed and not strict.allowed
    assert (decision.dry_run_rule is not None) is turned
    assert decision.dry_run_rule is None or decision.dry_run_rule == strict.rule


@examples(500)  # one world in a hundred waits for an approval
@given(worlds)
def test_an_approval_allows_only_what_waits_for_one(world: World) -> None:
    """Whatever else refuses a call, no person can overrule it."""
    given_usage = msgspec.structs.replace(world.usage, approval=ApprovalUse.GIVEN)
    given_one = replace(world, usage=given_usage).decision()
    if world.decision().reason not in APPROVAL_REASONS:
        assert given_one.reason == world.decision().reason
    else:
        assert given_one.allowed


def changed(world: World, **rules: Any) -> World:
    return replace(world, source={**world.source, **rules})


@EXAMPLES
@given(worlds, st.sampled_from(RULES))
def test_adding_a_deny_never_allows_more(world: World, rule: str) -> None:
    """A policy with one more `deny` refuses whatever it refused before."""
    more = changed(world, deny=[*world.source["deny"], rule])
    assert world.decision().allowed or not more.decision().allowed


@EXAMPLES
@given(worlds, st.data())
def test_removing_an_allow_never_allows_more(world: World, data: st.DataObject) -> None:
    """A policy with one `allow` less refuses whatever it refused before."""
    allow = world.source["allow"]
    if allow:
        index = data.draw(st.integers(0, len(allow) - 1))
        fewer = changed(world, allow=allow[:index] + allow[index + 1 :])
        assert world.decision().allowed or not fewer.decision().allowed


@EXAMPLES
@given(worlds)
def test_a_policy_without_allows_denies_everything(world: World) -> None:
    """Nothing else in a policy can replace an `allow`."""
    assert not changed(world, allow=[]).decision().allowed
    empty = replace(world, source={})
    assert not empty.decision().allowed


@EXAMPLES
@given(worlds, usages)
def test_more_usage_never_allows_more(world: World, usage: Usage) -> None:
    """A request is never allowed because something is used up."""
    before = world.usage
    later = Usage(
        before.calls + usage.calls,
        before.in_flight + usage.in_flight,
        (sum(before.in_rate_windows) + sum(usage.in_rate_windows),),
        before.past_deadline or usage.past_deadline,
        before.key,
        approval=before.approval,
        answered=before.answered | usage.answered,
        cost=before.cost + usage.cost,
    )
    assert world.decision().allowed or not replace(world, usage=later).decision().allowed


@EXAMPLES
@given(worlds, st.sampled_from([SCHEMA_RAISES, SCOPE_RAISES]))
def test_an_error_while_evaluating_never_allows(world: World, kind: int) -> None:
    """A schema check or a scope that raises, if it is called at all, is a refusal."""
    broken = replace(world, request=Request(world.request.capability, {"kind": kind}))
    decision = broken.decision()
    scoped = world.request.capability.split(".")[0] in SCOPED_DOMAINS
    if kind == SCHEMA_RAISES or scoped:
        assert not decision.allowed


@EXAMPLES
@given(policies)
def test_the_digest_depends_on_the_meaning_alone(source: dict[str, Any]) -> None:
    """The order in which rules are written is not part of a policy's name."""
    shuffled = {key: source[key] for key in reversed(source)}
    shuffled["allow"] = [*reversed(source["allow"]), *source["allow"]]
    assert load_policy(shuffled).policy.sha256 == load_policy(source).policy.sha256


@EXAMPLES
@given(worlds, flows)
def test_adding_a_flow_rule_never_allows_more(world: World, flow: dict[str, Any]) -> None:
    """A policy with one more rule of `flows` refuses whatever it refused before."""
    more = changed(world, flows=[*world.source["flows"], {"id": "one-more", **flow}])
    assert world.decision().allowed or not more.decision().allowed
