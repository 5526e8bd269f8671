"""The smallest policy for the calls of a log, with the evidence for each rule.

Exact capabilities, the narrowest scope that its model knows for the arguments that are shown, and
limits from what was used. It is a proposal for a person: the evidence names the records that each
part rests on, what was left out says why, and every call is judged again under the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from caps.security.audit.model.records import Record
from caps.security.decision import ReasonCode
from caps.security.policies.protected_paths import POLICY_FILE, Guarded
from caps.security.policies.names import domain_of, matching_rule
from caps.security.policy import SecurityPolicy, plain_json
from caps.security.policies.load import LoadedPolicy
from caps.security.review.catalogue import (
    Catalogue,
    first_decision,
    pointer,
    reached_by,
    scope_of,
    written_form,
)
from caps.security.review.suggest_limits import proposed_limits
from caps.security.review.log_summary import MOST_RECORDS, Asked, Lessons, gather
from caps.security.review.log_decisions import Observed
from caps.security.review.replay import Judge
from caps.security.review.scope_answers import ScopeProposal, SeenCall
from caps.security.review.plurals import counted, how_often

_MOST_EXAMPLES: Final = 3
_MOST_TESTS_EACH: Final = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why one part of a proposal is there. `records` are the first few sequence numbers."""

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
    """A policy, what each part of it rests on, and what is not in it."""

    policy: dict[str, Any]
    evidence: tuple[Evidence, ...]
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]


def learn(
    catalogue: Catalogue,
    records: Iterable[Record],
    *,
    base: LoadedPolicy | None = None,
    directory: Path,
    include_denied: bool = False,
    policy_id: str = "learned",
) -> Proposal:
    """The smallest policy for the calls of `records`.

    `base` is the policy that they ran under, if it is known: its `deny`, `approve` and `modules`
    are kept, no limit becomes wider, and relative paths start where they did under it; else they
    start at `directory`, where the proposal is to be put. Raises `PolicyInvalidError` if `base`
    does not fit the catalogue, and `AuditError` for a record whose time is none.
    """
    lessons = gather(catalogue, records, base=base, include_denied=include_denied)
    return _Draft(catalogue, lessons, base, directory, policy_id).proposal()


class _Draft:
    """A policy in the making."""

    def __init__(
        self,
        catalogue: Catalogue,
        lessons: Lessons,
        base: LoadedPolicy | None,
        directory: Path,
        policy_id: str,
    ) -> None:
        self._catalogue = catalogue
        self._lessons = lessons
        self._base = base
        self._directory = directory if base is None else base.base
        self._id = policy_id
        self._evidence: list[Evidence] = []
        self._notes: list[str] = []
        self._outside: list[tuple[str, dict[str, Any]]] = []

    def proposal(self) -> Proposal:
        """The policy of everything that was asked, judged and with tests of its own."""
        asked = list(self._lessons.asked.values())
        while True:
            self._evidence, self._notes, self._outside = [], [], []
            document = self._document(asked)
            loaded = self._loaded(document)
            judge = Judge(self._catalogue, _without_rates_and_approvals(loaded), assume_valid=True)
            allowed = [one for one in asked if self._is_allowed(judge, one)]
            if len(allowed) == len(asked):
                break
            asked = allowed  # what cannot be allowed must not leave a rule behind
        document["tests"] = list(self._tests(loaded, asked))
        left_out = tuple(
            LeftOut(capability, because, self._lessons.counts[capability, because], tuple(records))
            for (capability, because), records in sorted(self._lessons.left_out.items())
        )
        return Proposal(
            policy=document,
            evidence=tuple(self._evidence),
            left_out=left_out,
            notes=tuple(self._notes),
        )

    def _loaded(self, document: dict[str, Any]) -> LoadedPolicy:
        return LoadedPolicy(SecurityPolicy.model_validate(document), self._id, self._directory)

    def _document(self, asked: Sequence[Asked]) -> dict[str, Any]:
        names = sorted({one.example.capability for one in asked})
        kept = written_form(self._base.policy) if self._base is not None else {}
        document: dict[str, Any] = {
            "version": 1,
            "id": self._id,
            "description": f"proposed from {counted(self._lessons.calls, 'recorded call')}",
            "allow": names,
        }
        if kept.get("deny"):
            document["deny"] = kept["deny"]
        if approve := self._approve(kept.get("approve", ()), asked, names):
            document["approve"] = approve
        if kept.get("modules"):
            document["modules"] = kept["modules"]
        for index, name in enumerate(names):
            those = [one for one in asked if one.example.capability == name]
            self._say(pointer("allow", index), name, "it was called", those)
        document["scopes"] = dict(self._scopes(asked))
        self._warn_of_reach(document)
        document["limits"] = self._limits(kept.get("limits", {}), names)
        return document

    def _approve(
        self, kept: Sequence[str], asked: Sequence[Asked], names: Sequence[str]
    ) -> list[str]:
        """The base's own rules, and what a person approved of: it was not allowed without."""
        rules = [rule for rule in kept if _covers(rule, names)]
        approved = [one for one in asked if one.approved is not None]
        for name in sorted({one.example.capability for one in approved}):
            if not matching_rule(rules, name):
                those = [one for one in approved if one.example.capability == name]
                self._say(pointer("approve", len(rules)), name, "a person approved it", those)
                rules.append(name)
        return rules

    def _scopes(self, asked: Sequence[Asked]) -> Iterator[tuple[str, dict[str, Any]]]:
        held = None if self._base is None else self._catalogue.terms_of(self._base)
        for domain in sorted({domain_of(one.example.capability) for one in asked}):
            model = self._catalogue.domains[domain].scope
            if model is None:
                continue
            those = [one for one in asked if domain_of(one.example.capability) == domain]
            calls = [_seen(one) for one in those]
            proposal = model.covering(calls, None if held is None else scope_of(held, domain))
            if proposal is None:
                self._notes.append(
                    f"no scope can be proposed for `{domain}`, and without one it reaches nothing"
                )
                continue
            self._say_scope(domain, proposal, those)
            yield domain, proposal.scope

    def _warn_of_reach(self, document: dict[str, Any]) -> None:
        """Say where the proposal would let code change the policy that it is to become."""
        file = self._base.file if self._base is not None else None
        place = Guarded(POLICY_FILE, file or self._directory / f"{self._id}.json")
        terms = self._catalogue.terms_of(self._loaded(document))
        for domain in document["scopes"]:
            reached = reached_by(terms, domain, [place])
            if reached is not None:
                self._notes.append(
                    f"no runtime takes `scopes.{domain}` as it is, for {reached.message}: keep "
                    "what code may change in a directory apart from it"
                )

    def _say_scope(self, domain: str, proposal: ScopeProposal, those: Sequence[Asked]) -> None:
        for part in proposal.parts:
            value: Any = proposal.scope
            for step in part.place:
                value = value[step]
            place = pointer("scopes", domain, *part.place)
            self._say(place, value, part.note, [those[index] for index in part.calls])
        self._outside += [
            (f"{domain}.{call.function}", dict(call.shown)) for call in proposal.outside
        ]

    def _say(self, place: str, value: Any, because: str, those: Sequence[Asked]) -> None:
        refused = sum(one.refused for one in those)
        if refused and self._base is not None:
            because += f" (refused by the policy it ran under, {how_often(refused)}: this opens it)"
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
                tuple(sorted(seq for one in those for seq in one.records)[:MOST_RECORDS]),
                tuple(examples)[:_MOST_EXAMPLES],
            )
        )

    def _limits(self, kept: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
        """The base's own limits where nothing was measured; its rates stay as they are."""
        limits = {name: value for name, value in kept.items() if name != "rates"}
        rates = {r: rate for r, rate in kept.get("rates", {}).items() if _covers(r, names)}
        held = None if self._base is None else self._base.policy.limits
        for limit in proposed_limits(self._lessons.used, held):
            limits[limit.name] = limit.value
            because = f"at most {limit.most} was used by an execution that had all it asked for"
            place = pointer("limits", limit.name)
            count = len(self._lessons.used)
            records = limit.records[:MOST_RECORDS]
            self._evidence.append(Evidence(place, limit.value, because, count, records))
        if not self._lessons.used:
            self._notes.append(
                "no execution ran to its end with all it asked for, so limits are not learned"
            )
        elif self._lessons.unfinished:
            self._notes.append(
                f"{self._lessons.unfinished} executions failed or were refused something, and do "
                "not count for the limits"
            )
        return {**limits, "rates": rates} if rates else limits

    def _is_allowed(self, judge: Judge, one: Asked) -> bool:
        """Whether the proposal allows the call, as far as its arguments are shown."""
        answer = judge.answer(_as_a_first_call(one.example))
        if answer.allowed is None:
            note = f"not certain, for the log hides arguments: {answer.why}"
            if note not in self._notes:
                self._notes.append(note)
        if answer.allowed is not False:
            return True
        because = f"no scope is known that allows it: {answer.why}"
        self._lessons.leave_out(one.example.capability, because, one.records, one.count)
        return False

    def _tests(self, loaded: LoadedPolicy, asked: Sequence[Asked]) -> Iterator[dict[str, Any]]:
        """Calls that were made, if the log shows all of them, and calls that must not pass."""
        terms = self._catalogue.terms_of(loaded)
        tested: dict[str, int] = {}
        for one in asked:
            name, payload = one.example.capability, plain_json(dict(one.example.shown))
            if one.example.hidden or tested.get(name, 0) >= _MOST_TESTS_EACH:
                continue
            expect = first_decision(terms, name, payload).expectation
            if expect != "deny":
                tested[name] = tested.get(name, 0) + 1
                yield {"call": name, "payload": payload, "expect": expect}
        for name in sorted({one.example.capability for one in asked} - tested.keys()):
            self._notes.append(f"no test of `{name}`, for the log hides its arguments")
        domains = {domain_of(one.example.capability) for one in asked}
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
    """Whether a call is too many, or somebody approves of it, is not what its arguments say."""
    limits = {**loaded.policy.limits.model_dump(), "rates": {}}
    update = {"limits": limits, "approve": ()}
    return replace(loaded, policy=loaded.policy.model_copy(update=update))


def _as_a_first_call(observed: Observed) -> Observed:
    """The same call, judged by what it asks for; how often and how late is another question."""
    reason = ReasonCode.NOT_ALLOWED.value
    return replace(
        observed, seq=0, at=0.0, elapsed_s=0.0, calls_before=0, under_way=0, reason=reason
    )


def _seen(one: Asked) -> SeenCall:
    example = one.example
    function = example.capability.partition(".")[2]
    return SeenCall(function, example.shown, example.hidden, one.largest)


def shown_call(capability: str, shown: Mapping[str, Any], hidden: Iterable[str]) -> str:
    """A call on one line, for an example."""
    arguments = [f"{name}={value!r}" for name, value in shown.items()]
    arguments += [f"{name}=<hidden>" for name in sorted(hidden)]
    return f"{capability}({', '.join(arguments)})"
