"""What another policy would have said to the calls of a log, one by one.

Each decision is judged by itself: what the code would have done after another answer, nobody knows.
Arguments are redacted, so there are three answers and not two. A refusal is certain if any rule
refuses whatever the hidden arguments are; an allow is certain if every rule that looks at a hidden
argument is known to let it through; all else is `unknown`, with the arguments that it hangs on.

What is known of hidden arguments: a call that was allowed, that somebody was asked about, or that
was refused for its scope had passed the schema; and under the policy that decided
(`recorded_under`) a scope that did not become narrower lets through what it let through then.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from caps.security.audit.model.records import Record
from caps.security.decision import (
    CapabilityTerms,
    GrantTerms,
    ReasonCode,
    Request,
    Usage,
    decide,
)
from caps.security.policies.load import LoadedPolicy
from caps.security.review.catalogue import Catalogue, PolicyTerms
from caps.security.review.log_decisions import Observed, Walk
from caps.security.scopes import Scope, Violation
from caps.security.review.width import Width

# Clocks of records and of rate windows are not the same one.
_SLACK_S = 1.0

_RAISED = "(error)"  # not the name of a key
_STAYS_REFUSED = frozenset({ReasonCode.PAYLOAD_INVALID, ReasonCode.REVOKED})
# Somebody is asked last: a call that came so far had passed all else.
_PASSED_SCOPE = frozenset(
    {
        ReasonCode.ALLOWED,
        ReasonCode.APPROVAL_REQUIRED,
        ReasonCode.APPROVAL_DENIED,
        ReasonCode.APPROVAL_TIMEOUT,
    }
)
_PASSED_SCHEMA = _PASSED_SCOPE | {ReasonCode.SCOPE_VIOLATION}


class Turn(enum.StrEnum):
    """How a recorded decision and the replayed one compare."""

    SAME = "same"
    TO_ALLOW = "deny->allow"
    TO_DENY = "allow->deny"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the policy says: `allowed` is None if that hangs on what the log does not show."""

    allowed: bool | None
    reason: str
    rule: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded decision, and what the policy says to it now."""

    observed: Observed
    answer: Answer

    @property
    def turn(self) -> Turn:
        if self.answer.allowed is None:
            return Turn.UNKNOWN
        if self.answer.allowed is self.observed.allowed:
            return Turn.SAME
        return Turn.TO_ALLOW if self.answer.allowed else Turn.TO_DENY


def replay(
    catalogue: Catalogue,
    loaded: LoadedPolicy,
    records: Iterable[Record],
    *,
    recorded_under: LoadedPolicy | None = None,
    assume_valid: bool = False,
) -> Iterator[Replayed]:
    """Each decision of `records` under `loaded`. Raises `PolicyInvalidError`.

    With `assume_valid`, calls that were refused before their payload was looked at are taken to
    have fitted the schema: an honest worker sends no others.
    """
    judge = Judge(catalogue, loaded, recorded_under=recorded_under, assume_valid=assume_valid)
    walk = Walk()
    for record in records:
        observed = walk.take(record)
        if observed is not None:
            yield Replayed(observed, judge.answer(observed))


class Judge:
    """Says what a policy would have answered. Keeps the times of calls that have a rate."""

    def __init__(
        self,
        catalogue: Catalogue,
        loaded: LoadedPolicy,
        *,
        recorded_under: LoadedPolicy | None = None,
        assume_valid: bool = False,
    ) -> None:
        self._terms = catalogue.terms_of(loaded)
        # Of a log that does not name the terms only the policy is known: it must not matter where
        # its file was.
        elsewhere = catalogue.terms_of(replace(loaded, base=loaded.base / "elsewhere"))
        self._is_placeless = elsewhere.terms_sha256 == self._terms.terms_sha256
        self._older: PolicyTerms | None = None
        if recorded_under is not None:
            self._older = catalogue.terms_of(recorded_under)
        self._assume_valid = assume_valid
        self._times: dict[tuple[str, str], deque[float]] = {}

    def answer(self, observed: Observed) -> Answer:
        """What the policy says to one recorded call; to be asked in the order of the log."""
        terms = self._terms.terms.get(observed.capability)
        if terms is None:
            why = "it is not a registered capability"
            return Answer(False, ReasonCode.UNKNOWN_CAPABILITY, None, why)
        in_window = self._in_window(observed, terms)
        if self._is_same_policy(observed):
            return Answer(observed.allowed, observed.reason, observed.rule, "it is the same policy")
        if terms.withheld is not None:
            return _decided(self._terms, observed, {})
        if observed.reason in _STAYS_REFUSED:
            return Answer(False, observed.reason, None, "no policy allows it")
        too_many = observed.calls_before >= self._terms.limits.calls
        if too_many and not observed.came_late:
            return _decided(self._terms, observed, {}, calls=observed.calls_before)
        return self._by_arguments(observed, terms, self._doubts(observed, terms, in_window))

    def _is_same_policy(self, observed: Observed) -> bool:
        """Whether it was decided on the very terms that are asked about."""
        if observed.terms_sha256 is not None:
            return observed.terms_sha256 == self._terms.terms_sha256
        return self._is_placeless and observed.policy_sha256 == self._terms.policy_sha256

    def _by_arguments(
        self, observed: Observed, terms: CapabilityTerms, doubts: list[str]
    ) -> Answer:
        scope = self._by_scope(observed, terms)
        if scope is not None and scope.allowed is False:
            return scope
        unchecked = not self._assume_valid and observed.reason not in _PASSED_SCHEMA
        if unchecked and observed.hidden:
            doubts.append(f"{_named(observed.hidden)} may not fit the schema")
        elif unchecked and terms.problems_in(observed.shown) != ():
            # Numbers that JSON cannot carry exactly are shown as texts.
            if not any(isinstance(value, str) for value in observed.shown.values()):
                return _decided(self._terms, observed, observed.shown)
            doubts.append("what is shown may not fit the schema")
        if scope is not None:
            doubts.append(scope.why)
        if doubts:
            return Answer(None, "unknown", None, "; ".join(doubts))
        return Answer(True, ReasonCode.ALLOWED, terms.rule, "allowed")

    def _by_scope(self, observed: Observed, terms: CapabilityTerms) -> Answer | None:
        """A certain refusal, a doubt, or None: the scope lets it through."""
        if terms.scope is None:
            return None
        domain, _, function = observed.capability.partition(".")
        looks = _looks_at(terms.scope, function, observed.hidden)
        refused = _violation(terms.scope, function, observed)
        if refused is not None and _is_certain(refused, looks):
            if refused.rule == _RAISED:
                return Answer(False, ReasonCode.INTERNAL_ERROR, None, refused.message)
            rule = f"scopes.{domain}.{refused.rule}"
            return Answer(False, ReasonCode.SCOPE_VIOLATION, rule, refused.message)
        if looks is not None and not looks:
            return None
        return self._by_hidden(observed, terms, looks or {})

    def _by_hidden(
        self, observed: Observed, terms: CapabilityTerms, looks: Mapping[str, AbstractSet[str]]
    ) -> Answer | None:
        """What is known of the keys that look at hidden arguments; none given: all may."""
        widths = self._widths(observed, terms, looks)
        key = (observed.rule or "").rpartition(".")[2]
        was_refused = observed.reason == ReasonCode.SCOPE_VIOLATION
        if was_refused and key in widths and not widths[key].more:
            why = "it was refused for this, which did not become wider"
            return Answer(False, ReasonCode.SCOPE_VIOLATION, observed.rule, why)
        passed = observed.reason in _PASSED_SCOPE
        if passed and widths and not any(width.less for width in widths.values()):
            return None
        names = frozenset[str]().union(*looks.values()) if looks else observed.hidden
        keys = " or ".join(f"`{key}`" for key in sorted(looks)) or "the scope"
        return Answer(None, "unknown", None, f"{keys} may refuse {_named(names)}")

    def _widths(
        self, observed: Observed, terms: CapabilityTerms, keys: Collection[str]
    ) -> dict[str, Width]:
        """How these keys of the scope changed (none given: all), if it is known what decided."""
        older = self._older
        if older is None or older.policy_sha256 != observed.policy_sha256:
            return {}
        if observed.terms_sha256 not in (None, older.terms_sha256):
            return {}
        before = older.terms[observed.capability].scope
        if before is None or terms.scope is None:
            return {}
        widths = before.widths_to(terms.scope)
        return {key: widths[key] for key in keys or widths if key in widths}

    def _doubts(self, observed: Observed, terms: CapabilityTerms, in_window: int) -> list[str]:
        """Limits that hang on time, where the log does not rule out that they were reached."""
        limits, rate, found = self._terms.limits, terms.rate, list[str]()
        if observed.calls_before >= limits.calls:
            found.append("`limits.calls` may have been reached")
        if observed.elapsed_s is None or observed.elapsed_s * 1000 > limits.wall_ms:
            found.append("`limits.wall_ms` may have passed")
        crowded = observed.under_way >= limits.concurrency
        if crowded or observed.reason == ReasonCode.CONCURRENCY_EXCEEDED:
            found.append("`limits.concurrency` may have been reached")
        if rate is not None and in_window >= rate.count:
            found.append("`limits.rates` may have been reached")
        if terms.approve is not None:
            found.append("whether somebody approves it is not known")
        if observed.reason == ReasonCode.INTERNAL_ERROR:
            found.append("the rules could not be evaluated then")
        return found

    def _in_window(self, observed: Observed, terms: CapabilityTerms) -> int:
        """At least as many calls as the rate would have counted, whichever policy let them in."""
        if terms.rate is None:
            return 0
        times = self._times.setdefault((observed.principal, observed.capability), deque())
        while times and times[0] < observed.at - terms.rate.period_s - _SLACK_S:
            times.popleft()
        count = len(times)
        times.append(observed.at)
        return count


def _looks_at(
    scope: Scope, function: str, hidden: AbstractSet[str]
) -> Mapping[str, AbstractSet[str]] | None:
    """The keys that look at hidden arguments, and at which; None if the scope does not say."""
    fields = scope.fields_of(function)
    if fields is None:
        return None if hidden else {}
    return {key: names & hidden for key, names in fields.items() if names & hidden}


def _is_certain(violation: Violation, looks: Mapping[str, AbstractSet[str]] | None) -> bool:
    """Whether the key that refuses saw all that it looks at."""
    return looks is not None and (not looks or violation.rule not in (*looks, _RAISED))


def _violation(scope: Scope, function: str, observed: Observed) -> Violation | None:
    try:
        return scope.violation(function, observed.shown)
    except Exception as error:  # noqa: BLE001 - a scope may rely on what is hidden, or be broken
        return Violation(_RAISED, f"the scope raised `{type(error).__name__}`")


def _decided(terms: GrantTerms, observed: Observed, payload: Any, *, calls: int = 0) -> Answer:
    """What the decision function says where it needs nothing that is hidden."""
    usage = Usage(calls=calls, in_flight=0, in_rate_window=0, past_deadline=False)
    decision = decide(terms, Request(observed.capability, payload), usage)
    return Answer(decision.allowed, decision.reason.value, decision.rule, decision.message)


def _named(fields: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(fields))
