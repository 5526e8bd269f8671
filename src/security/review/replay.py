"""What another policy would have decided about the calls of a log, one by one.

Each decision is replayed alone: nobody knows what the code would have done after another answer.
Arguments are redacted, so there are three answers and not two. A refusal is certain if some rule
refuses whatever the hidden arguments are; an allow is certain if every rule that checks a hidden
argument is known to accept it; everything else is `unknown`, with the arguments that decide it.

Under several policies each must allow: a refusal by one is a refusal, which names it, and a call is
allowed if all allow it.

What is known about hidden arguments: a call that was allowed, that needed an approval, or that was
refused by its scope had passed the schema; and, given the policy that decided (`recorded_under`), a
scope that did not become narrower still accepts what it accepted then.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from caps.security.audit.model.records import AuditRecord
from caps.security.decision import asking_rules, decide
from caps.security.policies.flow_rules import marks_after
from caps.security.policies.load import LoadedPolicy, listed
from caps.security.policy import COST
from caps.security.reasons import ReasonCode
from caps.security.request import Request, Usage
from caps.security.review.catalogue import Catalogue, PolicyTerms
from caps.security.review.log_decisions import DecisionReader, RecordedDecision
from caps.security.review.width import Breadth
from caps.security.scopes import Scope, Violation
from caps.security.terms import CapabilityTerms, GrantTerms
from caps.security.terms import PolicyTerms as LinkTerms

# Records and rate windows use different clocks.
_SLACK_S = 1.0

_RAISED = "(error)"  # not the name of a key
_STAYS_REFUSED = frozenset(
    {ReasonCode.PAYLOAD_INVALID, ReasonCode.REVOKED, ReasonCode.TOOL_CARD_INVALID}
)
# Flows and the approval are the last rules: a call that got this far had passed all others.
_PASSED_SCOPE = frozenset(
    {
        ReasonCode.ALLOWED,
        ReasonCode.FLOW_DENIED,
        ReasonCode.APPROVAL_REQUIRED,
        ReasonCode.APPROVAL_DENIED,
        ReasonCode.APPROVAL_TIMEOUT,
    }
)
_PASSED_SCHEMA = _PASSED_SCOPE | {ReasonCode.SCOPE_VIOLATION}


class Flip(enum.StrEnum):
    """How a recorded decision and the replayed one compare."""

    SAME = "same"
    TO_ALLOW = "deny->allow"
    TO_DENY = "allow->deny"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ReplayVerdict:
    """The policy's answer: `allowed` is None if it depends on what the log does not show."""

    allowed: bool | None
    reason: str
    rule: str | None
    why: str
    policy: str | None = None
    """The id of the policy that answers so, if there are several."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded decision, and the answer of the other policy."""

    observed: RecordedDecision
    answer: ReplayVerdict

    @property
    def turn(self) -> Flip:
        if self.answer.allowed is None:
            return Flip.UNKNOWN
        if self.answer.allowed is self.observed.allowed:
            return Flip.SAME
        return Flip.TO_ALLOW if self.answer.allowed else Flip.TO_DENY


def replay(
    catalogue: Catalogue,
    loaded: LoadedPolicy | Sequence[LoadedPolicy],
    records: Iterable[AuditRecord],
    *,
    recorded_under: LoadedPolicy | None = None,
    assume_valid: bool = False,
) -> Iterator[Replayed]:
    """Each decision of `records` under `loaded`, one policy or several. PolicyInvalidError.

    With `assume_valid`, the payloads of calls that were refused before the schema was checked are
    assumed to be valid: a correct worker sends no others.
    """
    policies = listed(loaded)
    replayers = [
        Replayer(
            catalogue, *policies, index=n, recorded_under=recorded_under, assume_valid=assume_valid
        )
        for n in range(len(policies))
    ]
    reader = DecisionReader()
    for record in records:
        observed = reader.read(record)
        if observed is not None:
            yield Replayed(observed, _combined([each.answer(observed) for each in replayers]))


def _combined(answers: list[ReplayVerdict]) -> ReplayVerdict:
    """The first refusal, else the first that is not known, else the answer of the last policy."""
    for allowed in (False, None):
        for answer in answers:
            if answer.allowed is allowed:
                return answer
    return answers[-1]


class _OneOf:
    """One policy of a grant, as a grant of its own: its scopes follow the other policies."""

    def __init__(self, grant: PolicyTerms, link: LinkTerms) -> None:
        self.terms_sha256 = grant.terms_sha256
        self.policy_id = link.policy_id
        self.policy_sha256 = link.policy_sha256
        self.limits = link.limits
        self.terms = link.terms
        self.links = (link,)
        self.revoked = frozenset[str]()
        self.uncarded = frozenset[str]()


class Replayer:
    """Decides recorded calls under another policy. Keeps the times of calls that have a rate."""

    def __init__(
        self,
        catalogue: Catalogue,
        *loaded: LoadedPolicy,
        index: int = -1,
        recorded_under: LoadedPolicy | None = None,
        assume_valid: bool = False,
    ) -> None:
        """Of several policies, answers for the one at `index`."""
        grant = catalogue.terms_of(*loaded)
        self._policy_id = grant.links[index].policy_id if len(loaded) > 1 else None
        self._labelled = grant.terms  # the labels of all policies count, under each of them
        self._terms: PolicyTerms = grant if len(loaded) == 1 else _OneOf(grant, grant.links[index])
        # A log without `terms_sha256` identifies only the policy. Then the policies are the same
        # only if the directory of the file does not matter.
        moved = (replace(each, base=each.base / "elsewhere") for each in loaded)
        elsewhere = catalogue.terms_of(*moved)
        self._is_placeless = len(loaded) == 1 and elsewhere.terms_sha256 == grant.terms_sha256
        self._older: PolicyTerms | None = None
        # The scopes of several policies depend on each other, so their widths alone say nothing.
        if recorded_under is not None and len(loaded) == 1:
            self._older = catalogue.terms_of(recorded_under)
        self._assume_valid = assume_valid
        self._times: dict[tuple[str, str], deque[float]] = {}

    def answer(self, observed: RecordedDecision) -> ReplayVerdict:
        """The policy's answer to one recorded call. Calls must come in the order of the log."""
        return replace(self._answer(observed), policy=self._policy_id)

    def _answer(self, observed: RecordedDecision) -> ReplayVerdict:
        terms = self._terms.terms.get(observed.capability)
        if terms is None:
            why = "it is not a registered capability"
            return ReplayVerdict(False, ReasonCode.UNKNOWN_CAPABILITY, None, why)
        in_window = self._in_window(observed, terms)
        if self._is_same_policy(observed):
            return ReplayVerdict(
                observed.allowed, observed.reason, observed.rule, "it is the same policy"
            )
        if terms.withheld is not None:
            return _decide(self._terms, observed, {})
        if observed.reason in _STAYS_REFUSED:
            return ReplayVerdict(False, observed.reason, None, "no policy allows it")
        too_many = observed.calls_before >= self._terms.limits.calls
        if too_many and not observed.recorded_late:
            return _decide(self._terms, observed, {}, calls=observed.calls_before)
        return self._by_arguments(observed, terms, self._doubts(observed, terms, in_window))

    def _is_same_policy(self, observed: RecordedDecision) -> bool:
        """Whether the recorded decision was made on the same terms."""
        if observed.terms_sha256 is not None:
            return observed.terms_sha256 == self._terms.terms_sha256
        return self._is_placeless and observed.policy_sha256 == self._terms.policy_sha256

    def _by_arguments(
        self, observed: RecordedDecision, terms: CapabilityTerms, doubts: list[str]
    ) -> ReplayVerdict:
        scope = self._by_scope(observed, terms)
        if scope is not None and scope.allowed is False:
            return scope
        if (flow := self._by_flow(observed, terms)) is not None:
            return flow
        unchecked = not self._assume_valid and observed.reason not in _PASSED_SCHEMA
        if unchecked and observed.hidden:
            doubts.append(f"{_quoted_names(observed.hidden)} may not fit the schema")
        elif unchecked and terms.problems_in(observed.shown) != ():
            # A shown string may be a number: those that JSON cannot hold exactly are strings.
            if not any(isinstance(value, str) for value in observed.shown.values()):
                return _decide(self._terms, observed, observed.shown)
            doubts.append("what is shown may not fit the schema")
        if scope is not None:
            doubts.append(scope.why)
        if doubts:
            return ReplayVerdict(None, "unknown", None, "; ".join(doubts))
        return ReplayVerdict(True, ReasonCode.ALLOWED, terms.rule, "allowed")

    def _answered(self, observed: RecordedDecision) -> frozenset[str]:
        """What the channel was answered: as recorded, and with the labels of the policies."""
        return marks_after(self._labelled, (*observed.labels, *observed.functions))

    def _by_flow(self, observed: RecordedDecision, terms: CapabilityTerms) -> ReplayVerdict | None:
        """A certain refusal by a flow rule, unless another rule refuses anyway."""
        answered = self._answered(observed)
        for flow in terms.flows:
            if not flow.asks and flow.after <= answered:
                after = _quoted_names(flow.after)
                why = f"it is denied after {after}"
                return ReplayVerdict(False, ReasonCode.FLOW_DENIED, flow.rule, why)
        return None

    def _by_scope(self, observed: RecordedDecision, terms: CapabilityTerms) -> ReplayVerdict | None:
        """A certain refusal, an unknown answer, or None: the scope accepts it."""
        if terms.scope is None:
            return None
        domain, _, function = observed.capability.partition(".")
        checks = _hidden_checks(terms.scope, function, observed.hidden)
        refused = _violation(terms.scope, function, observed)
        if refused is not None and _is_certain(refused, checks):
            if refused.rule == _RAISED:
                return ReplayVerdict(False, ReasonCode.INTERNAL_ERROR, None, refused.message)
            rule = f"scopes.{domain}.{refused.rule}"
            return ReplayVerdict(False, ReasonCode.SCOPE_VIOLATION, rule, refused.message)
        if checks is not None and not checks:
            return None
        return self._by_hidden(observed, terms, checks or {})

    def _by_hidden(
        self,
        observed: RecordedDecision,
        terms: CapabilityTerms,
        checks: Mapping[str, AbstractSet[str]],
    ) -> ReplayVerdict | None:
        """What is known of the keys that check hidden arguments; without `checks`, any key may."""
        widths = self._widths(observed, terms, checks)
        key = (observed.rule or "").rpartition(".")[2]
        was_refused = observed.reason == ReasonCode.SCOPE_VIOLATION
        if was_refused and key in widths and not widths[key].more:
            why = "it was refused for this, which did not become wider"
            return ReplayVerdict(False, ReasonCode.SCOPE_VIOLATION, observed.rule, why)
        passed = observed.reason in _PASSED_SCOPE
        if passed and widths and not any(width.less for width in widths.values()):
            return None
        names = frozenset[str]().union(*checks.values()) if checks else observed.hidden
        keys = " or ".join(f"`{key}`" for key in sorted(checks)) or "the scope"
        return ReplayVerdict(None, "unknown", None, f"{keys} may refuse {_quoted_names(names)}")

    def _widths(
        self, observed: RecordedDecision, terms: CapabilityTerms, keys: Collection[str]
    ) -> dict[str, Breadth]:
        """How these keys of the scope (default: all) changed; empty if the old one is unknown."""
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

    def _doubts(
        self, observed: RecordedDecision, terms: CapabilityTerms, in_window: int
    ) -> list[str]:
        """Limits and approvals for which the log cannot show that the call passes them."""
        limits, rate, found = self._terms.limits, terms.rate, list[str]()
        if observed.calls_before >= limits.calls:
            found.append("`limits.calls` may have been reached")
        if observed.elapsed_s is None or observed.elapsed_s * 1000 > limits.wall_ms:
            found.append("`limits.wall_ms` may have passed")
        # The log does not say what a call costs.
        if limits.cost < COST or observed.reason == ReasonCode.COST_EXCEEDED:
            found.append("`limits.cost` may have been reached")
        too_many = observed.in_flight >= limits.concurrency
        if too_many or observed.reason == ReasonCode.CONCURRENCY_EXCEEDED:
            found.append("`limits.concurrency` may have been reached")
        if rate is not None and in_window >= rate.count:
            found.append("`limits.rates` may have been reached")
        if asking_rules(terms, self._answered(observed)):
            found.append("whether somebody approves it is not known")
        if observed.reason == ReasonCode.INTERNAL_ERROR:
            found.append("the rules could not be evaluated then")
        return found

    def _in_window(self, observed: RecordedDecision, terms: CapabilityTerms) -> int:
        """An upper bound of the calls that the rate would have counted, under any policy."""
        if terms.rate is None:
            return 0
        times = self._times.setdefault((observed.principal, observed.capability), deque())
        while times and times[0] < observed.at - terms.rate.period_s - _SLACK_S:
            times.popleft()
        count = len(times)
        times.append(observed.at)
        return count


def _hidden_checks(
    scope: Scope, function: str, hidden: AbstractSet[str]
) -> Mapping[str, AbstractSet[str]] | None:
    """The keys that check hidden arguments, and which ones; None if the scope does not say."""
    fields = scope.fields_of(function)
    if fields is None:
        return None if hidden else {}
    return {key: names & hidden for key, names in fields.items() if names & hidden}


def _is_certain(violation: Violation, checks: Mapping[str, AbstractSet[str]] | None) -> bool:
    """Whether the key that refuses saw all arguments that it checks."""
    return checks is not None and (not checks or violation.rule not in (*checks, _RAISED))


def _violation(scope: Scope, function: str, observed: RecordedDecision) -> Violation | None:
    try:
        return scope.violation(function, observed.shown)
    except Exception as error:  # noqa: BLE001 - a scope may need a hidden argument, or be broken
        return Violation(_RAISED, f"the scope raised `{type(error).__name__}`")


def _decide(
    terms: GrantTerms, observed: RecordedDecision, payload: Any, *, calls: int = 0
) -> ReplayVerdict:
    """The answer of the decision function, where it needs no hidden argument."""
    usage = Usage(calls=calls, in_flight=0, in_rate_windows=(), past_deadline=False)
    decision = decide(terms, Request(observed.capability, payload), usage)
    return ReplayVerdict(decision.allowed, decision.reason.value, decision.rule, decision.message)


def _quoted_names(fields: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(fields))
