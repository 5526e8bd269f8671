"""The smallest policy for the calls of a log, with the evidence for each rule.

It has exact capabilities, the narrowest scope that each scope model knows for the shown arguments,
and limits from what was used. It is a proposal for a person: the evidence names the records behind
each part, each omission has its reason, and every call is decided again under the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from caps.security.audit.model.records import AuditRecord
from caps.security.policies.load import LoadedPolicy
from caps.security.policies.names import domain_of, matching_rule
from caps.security.policies.plain_json import plain_json
from caps.security.policies.protected_paths import POLICY_FILE, ProtectedPath
from caps.security.policy import SecurityPolicy
from caps.security.reasons import ReasonCode
from caps.security.review.catalogue import (
    Catalogue,
    first_decision,
    json_pointer,
    reached_by,
    scope_of,
    written_form,
)
from caps.security.review.flow_review import known_labels
from caps.security.review.log_decisions import RecordedDecision
from caps.security.review.log_summary import (
    MAX_RECORDS,
    LogSummary,
    ObservedCallGroup,
    summarize_log,
)
from caps.security.review.plurals import plural, times
from caps.security.review.replay import Replayer
from caps.security.review.scope_answers import ObservedArguments, ScopeProposal
from caps.security.review.suggest_limits import proposed_limits

_MAX_EXAMPLES: Final = 3
_MAX_TESTS_EACH: Final = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a proposal has one of its parts. `records` are the first few sequence numbers."""

    place: str
    value: Any
    because: str
    count: int
    records: tuple[int, ...]
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Calls that the proposal does not allow, and why."""

    capability: str
    because: str
    count: int
    records: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A policy, the evidence for each part of it, and what was left out."""

    policy: dict[str, Any]
    evidence: tuple[Evidence, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]


def learn(
    catalogue: Catalogue,
    records: Iterable[AuditRecord],
    *,
    base: LoadedPolicy | None = None,
    directory: Path,
    include_denied: bool = False,
    policy_id: str = "learned",
) -> Proposal:
    """The smallest policy for the calls of `records`.

    `base` is the policy that they ran under, if it is known: its `deny`, `approve`, `labels`,
    `flows` and `modules` are kept, no limit becomes wider, and relative paths start at its
    directory. Without it they start at `directory`, where the proposal will be stored. Raises
    `PolicyInvalidError` if `base` does not fit the catalogue, and `AuditError` for a record without
    a valid time.
    """
    summary = summarize_log(catalogue, records, base=base, include_denied=include_denied)
    return _Draft(catalogue, summary, base, directory, policy_id).proposal()


class _Draft:
    """A proposal while it is built."""

    def __init__(
        self,
        catalogue: Catalogue,
        summary: LogSummary,
        base: LoadedPolicy | None,
        directory: Path,
        policy_id: str,
    ) -> None:
        self._catalogue = catalogue
        self._summary = summary
        self._base = base
        self._directory = directory if base is None else base.base
        self._id = policy_id
        self._evidence: list[Evidence] = []
        self._notes: list[str] = []
        self._outside: list[tuple[str, dict[str, Any]]] = []

    def proposal(self) -> Proposal:
        """The policy for all needed calls, decided again under it, with tests."""
        groups = list(self._summary.groups.values())
        while True:
            self._evidence, self._notes, self._outside = [], [], []
            document = self._document(groups)
            loaded = self._loaded(document)
            replayer = Replayer(
                self._catalogue, _without_rates_and_approvals(loaded), assume_valid=True
            )
            allowed = [one for one in groups if self._is_allowed(replayer, one)]
            if len(allowed) == len(groups):
                break
            groups = allowed  # a call that cannot be allowed must not leave a rule behind
        document["tests"] = list(self._tests(loaded, groups))
        left_out = tuple(
            LeftOut(capability, because, self._summary.counts[capability, because], tuple(records))
            for (capability, because), records in sorted(self._summary.left_out.items())
        )
        return Proposal(
            policy=document,
            evidence=tuple(self._evidence),
            left_out=left_out,
            notes=tuple(self._notes),
        )

    def _loaded(self, document: dict[str, Any]) -> LoadedPolicy:
        return LoadedPolicy(SecurityPolicy.model_validate(document), self._id, self._directory)

    def _document(self, groups: Sequence[ObservedCallGroup]) -> dict[str, Any]:
        names = sorted({one.example.capability for one in groups})
        kept = written_form(self._base.policy) if self._base is not None else {}
        document: dict[str, Any] = {
            "version": 1,
            "id": self._id,
            "description": f"proposed from {plural(self._summary.calls, 'recorded call')}",
            "allow": names,
        }
        if kept.get("deny"):
            document["deny"] = kept["deny"]
        if approve := self._approve(kept.get("approve", ()), groups, names):
            document["approve"] = approve
        for key in ("modules", "labels"):
            if kept.get(key):
                document[key] = kept[key]
        for index, name in enumerate(names):
            those = [one for one in groups if one.example.capability == name]
            self._add_evidence(json_pointer("allow", index), name, "it was called", those)
        document["scopes"] = dict(self._scopes(groups))
        if flows := self._flows(document, kept.get("flows", ())):
            document["flows"] = flows
        self._warn_about_protected_path(document)
        document["limits"] = self._limits(kept.get("limits", {}), names)
        return document

    def _approve(
        self, kept: Sequence[str], groups: Sequence[ObservedCallGroup], names: Sequence[str]
    ) -> list[str]:
        """The rules of `base`, and what a person approved: it was not allowed without that."""
        rules = [rule for rule in kept if _covers(rule, names)]
        approved = [one for one in groups if one.approved is not None]
        for name in sorted({one.example.capability for one in approved}):
            if not matching_rule(rules, name):
                those = [one for one in approved if one.example.capability == name]
                place = json_pointer("approve", len(rules))
                self._add_evidence(place, name, "a person approved it", those)
                rules.append(name)
        return rules

    def _flows(
        self, document: dict[str, Any], kept: Sequence[dict[str, Any]]
    ) -> list[dict[str, Any]]:
        """The flow rules of `base`. None is dropped unless it could never apply any more."""
        known = known_labels(self._catalogue.terms_of(self._loaded(document)))
        flows = []
        for rule in kept:
            unknown = [mark for mark in rule["after"] if "." not in mark and mark not in known]
            if unknown:
                words = ", ".join(f"`{label}`" for label in unknown)
                self._notes.append(
                    f"`flows.{rule['id']}` is left out, for nothing that is allowed gives {words}"
                )
            else:
                flows.append(rule)
        return flows

    def _scopes(self, groups: Sequence[ObservedCallGroup]) -> Iterator[tuple[str, dict[str, Any]]]:
        base_terms = None if self._base is None else self._catalogue.terms_of(self._base)
        for domain in sorted({domain_of(one.example.capability) for one in groups}):
            model = self._catalogue.domains[domain].scope
            if model is None:
                continue
            those = [one for one in groups if domain_of(one.example.capability) == domain]
            calls = [_observed_arguments(one) for one in those]
            base_scope = None if base_terms is None else scope_of(base_terms, domain)
            proposal = model.covering(calls, base_scope)
            if proposal is None:
                self._notes.append(
                    f"no scope can be proposed for `{domain}`, and without one it reaches nothing"
                )
                continue
            self._add_scope_evidence(domain, proposal, those)
            yield domain, proposal.scope

    def _warn_about_protected_path(self, document: dict[str, Any]) -> None:
        """Add a note for each scope that would let code change the file of the proposal."""
        file = self._base.file if self._base is not None else None
        place = ProtectedPath(POLICY_FILE, file or self._directory / f"{self._id}.json")
        terms = self._catalogue.terms_of(self._loaded(document))
        for domain in document["scopes"]:
            reached = reached_by(terms, domain, [place])
            if reached is not None:
                self._notes.append(
                    f"no runtime takes `scopes.{domain}` as it is, for {reached.message}: keep "
                    "what code may change in a directory apart from it"
                )

    def _add_scope_evidence(
        self, domain: str, proposal: ScopeProposal, those: Sequence[ObservedCallGroup]
    ) -> None:
        for part in proposal.parts:
            value: Any = proposal.scope
            for step in part.place:
                value = value[step]
            place = json_pointer("scopes", domain, *part.place)
            self._add_evidence(place, value, part.note, [those[index] for index in part.calls])
        self._outside += [
            (f"{domain}.{call.function}", dict(call.shown)) for call in proposal.outside
        ]

    def _add_evidence(
        self, place: str, value: Any, because: str, those: Sequence[ObservedCallGroup]
    ) -> None:
        refused = sum(one.refused for one in those)
        if refused and self._base is not None:
            because += f" (refused by the policy it ran under, {times(refused)}: this opens it)"
        examples = dict.fromkeys(
            shown_call(one.example.capability, one.example.shown, one.example.hidden)
            for one in those
        )
        self._evidence.append(
            Evidence(
                place,
                value,
                because,
                sum(one.count for one in those),
                tuple(sorted(seq for one in those for seq in one.records)[:MAX_RECORDS]),
                tuple(examples)[:_MAX_EXAMPLES],
            )
        )

    def _limits(self, kept: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """The limits of `base` where nothing was measured; its rates are kept."""
        limits = {name: value for name, value in kept.items() if name != "rates"}
        rates = {r: rate for r, rate in kept.get("rates", {}).items() if _covers(r, names)}
        ceiling = None if self._base is None else self._base.policy.limits
        for limit in proposed_limits(self._summary.used, ceiling):
            limits[limit.name] = limit.value
            because = f"at most {limit.most} was used by an execution that had all it asked for"
            place = json_pointer("limits", limit.name)
            count = len(self._summary.used)
            records = limit.records[:MAX_RECORDS]
            self._evidence.append(Evidence(place, limit.value, because, count, records))
        if not self._summary.used:
            self._notes.append(
                "no execution ran to its end with all it asked for, so limits are not learned"
            )
        elif self._summary.unfinished:
            self._notes.append(
                f"{self._summary.unfinished} executions failed or were refused something, and do "
                "not count for the limits"
            )
        return {**limits, "rates": rates} if rates else limits

    def _is_allowed(self, replayer: Replayer, one: ObservedCallGroup) -> bool:
        """Whether the proposal allows the call, as far as its arguments are shown."""
        answer = replayer.answer(_as_first_call(one.example))
        if answer.allowed is None:
            note = f"not certain, for the log hides arguments: {answer.why}"
            if note not in self._notes:
                self._notes.append(note)
        if answer.allowed is not False:
            return True
        because = f"no scope is known that allows it: {answer.why}"
        self._summary.leave_out(one.example.capability, because, one.records, one.count)
        return False

    def _tests(
        self, loaded: LoadedPolicy, groups: Sequence[ObservedCallGroup]
    ) -> Iterator[dict[str, Any]]:
        """Recorded calls whose arguments are all shown, and calls that must be denied."""
        terms = self._catalogue.terms_of(loaded)
        tested: dict[str, int] = {}
        for one in groups:
            name, payload = one.example.capability, plain_json(dict(one.example.shown))
            if one.example.hidden or tested.get(name, 0) >= _MAX_TESTS_EACH:
                continue
            expect = first_decision(terms, name, payload).expectation
            if expect != "deny":
                tested[name] = tested.get(name, 0) + 1
                yield {"call": name, "payload": payload, "expect": expect}
        for name in sorted({one.example.capability for one in groups} - tested.keys()):
            self._notes.append(f"no test of `{name}`, for the log hides its arguments")
        domains = {domain_of(one.example.capability) for one in groups}
        siblings = (name for name in terms.terms if domain_of(name) in domains)
        forbidden = [*self._outside, *((name, dict[str, Any]()) for name in siblings)]
        for name, payload in forbidden:
            if name in loaded.policy.allow and not payload:
                continue
            if first_decision(terms, name, payload).expectation == "deny":
                yield {"call": name, "payload": payload, "expect": "deny"}


def _covers(rule: str, names: Sequence[str]) -> bool:
    return any(matching_rule((rule,), name) for name in names)


def _without_rates_and_approvals(loaded: LoadedPolicy) -> LoadedPolicy:
    """Rates and approvals do not depend on the arguments of a call, so they are left out."""
    limits = {**loaded.policy.limits.model_dump(), "rates": {}}
    update = {"limits": limits, "approve": ()}
    return replace(loaded, policy=loaded.policy.model_copy(update=update))


def _as_first_call(observed: RecordedDecision) -> RecordedDecision:
    """The same call as the first of an execution: only its arguments count."""
    reason = ReasonCode.NOT_ALLOWED.value
    return replace(
        observed,
        seq=0,
        at=0.0,
        elapsed_s=0.0,
        calls_before=0,
        in_flight=0,
        reason=reason,
        labels=frozenset(),
        functions=frozenset(),
    )


def _observed_arguments(one: ObservedCallGroup) -> ObservedArguments:
    example = one.example
    function = example.capability.partition(".")[2]
    return ObservedArguments(function, example.shown, example.hidden, one.largest)


def shown_call(capability: str, shown: Mapping[str, Any], hidden: Iterable[str]) -> str:
    """A call on one line, for an example."""
    arguments = [f"{name}={value!r}" for name, value in shown.items()]
    arguments += [f"{name}=<hidden>" for name in sorted(hidden)]
    return f"{capability}({', '.join(arguments)})"
