"""Problems in a valid policy, and all problems of an invalid one.

Loading stops at the first rule that names nothing; here each of them is a finding, and the rest of
the policy is checked without it. Dead: rules that decide nothing. Unsatisfiable: what is allowed
and can never happen. Wide: more than was probably meant. Unproved: what no test covers.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from caps.protocol.errors import PolicyInvalidError
from caps.protocol.text import nearest
from caps.security.policies.deny_rules import RuleMode
from caps.security.policies.load import LoadedPolicy
from caps.security.policies.names import domain_of, matching_rule
from caps.security.policies.protected_paths import ProtectedPath, first_reached
from caps.security.policy import Limits, RuleEffect, SecurityPolicy
from caps.security.reasons import ReasonCode
from caps.security.review.catalogue import (
    Catalogue,
    covered_by,
    functions_of,
    granted,
    json_pointer,
    reached_by,
    rule_place,
    scope_of,
    written_form,
)
from caps.security.review.flow_review import known_labels, marks_in, open_ways, without_marks
from caps.security.review.lint_codes import Finding, LintCode, finding
from caps.security.review.policy_tests import run_tests
from caps.security.terms import GrantTerms

_LISTS = ("allow", "deny", "approve")
_SAFE = Limits()


@dataclass(frozen=True, slots=True)
class _LintedPolicy:
    """A policy without the rules that name nothing, and the catalogue."""

    catalogue: Catalogue
    policy: SecurityPolicy
    terms: GrantTerms
    written: Mapping[str, Any]
    protected: tuple[ProtectedPath, ...]

    def allowed(self) -> frozenset[str]:
        """What the rules allow, before scopes are checked."""
        return frozenset(
            name
            for name in self.catalogue.capabilities
            if self.policy.verdict(name).effect is RuleEffect.ALLOW
        )

    def covered(self, rule: str) -> frozenset[str]:
        return covered_by(rule, self.catalogue.capabilities)


def lint(
    catalogue: Catalogue,
    loaded: LoadedPolicy,
    *,
    written: Mapping[str, Any] | None = None,
    protected: Sequence[ProtectedPath] = (),
) -> tuple[Finding, ...]:
    """All findings, worst first; `written` is the policy's JSON, for the places.

    `protected` is what scopes must not reach, in addition to the policy's own file.
    """
    all_protected = (*loaded.protected, *protected)
    document = written_form(loaded.policy) if written is None else written
    unknown = list(_unknown_rules(catalogue, loaded.policy, document))
    loaded, bad_scopes = _without_bad_scopes(
        catalogue, replace(loaded, policy=_known_part(catalogue, loaded.policy))
    )
    loaded, bad_labels = _without_unknown_labels(catalogue, loaded)
    terms = catalogue.terms_of(loaded)
    linted = _LintedPolicy(catalogue, loaded.policy, terms, document, all_protected)
    checks = (
        *(_rules, _idle_rules, _idle_bounds, _unsatisfiable),
        *(_scopes, _reaches, _trifecta, _modules, _limits, _tests),
    )
    found = [
        *unknown,
        *bad_scopes,
        *bad_labels,
        *(one for check in checks for one in check(linted)),
    ]
    return tuple(sorted(found, key=lambda one: (-one.severity.rank, one.place, one.code)))


def _exists(catalogue: Catalogue, rule: str) -> bool:
    if rule.endswith(".*"):
        return rule[:-2] in catalogue.domains
    return rule in catalogue.capabilities


def _unknown_rules(
    catalogue: Catalogue, policy: SecurityPolicy, written: Mapping[str, Any]
) -> Iterator[Finding]:
    places = [
        (rule, rule_place(written, key, rule)) for key in _LISTS for rule in getattr(policy, key)
    ]
    places += [
        (rule, rule_place(written, "deny", rule, RuleMode.DRY_RUN)) for rule in policy.dry_run
    ]
    places += [(rule, json_pointer("limits", "rates", rule)) for rule in policy.limits.rates]
    places += [(rule, json_pointer("labels", rule)) for rule in policy.labels]
    places += [(mark, place) for mark, place in marks_in(policy) if "." in mark]
    everything = [*catalogue.capabilities, *(f"{name}.*" for name in catalogue.domains)]
    for rule, place in places:
        if not _exists(catalogue, rule):
            meant = nearest(rule, everything)
            remedy = f"write `{meant}`, if that was meant" if meant else "remove it"
            message = f"`{rule}` matches nothing that is registered"
            yield finding(LintCode.UNKNOWN_RULE, place, message, remedy)
    for index, test in enumerate(policy.tests):
        if test.expect == "allow" and test.call not in catalogue.capabilities:
            message = f"`{test.call}` is tested and not registered"
            place = json_pointer("tests", index, "call")
            yield finding(LintCode.UNKNOWN_RULE, place, message, "correct its name")


def _known_part(catalogue: Catalogue, policy: SecurityPolicy) -> SecurityPolicy:
    exists = functools.partial(_exists, catalogue)
    kept: dict[str, Any] = {
        key: tuple(rule for rule in getattr(policy, key) if exists(rule))
        for key in ("allow", "approve")
    }
    kept["deny"] = tuple(each for each in policy.deny_rules if exists(each.rule))
    rates = {rule: rate for rule, rate in policy.limits.rates.items() if exists(rule)}
    kept["limits"] = {**policy.limits.model_dump(), "rates": rates}
    kept["labels"] = {rule: given for rule, given in policy.labels.items() if exists(rule)}
    functions = {mark for mark, _ in marks_in(policy) if "." in mark}
    return without_marks(
        policy.model_copy(update=kept), {mark for mark in functions if not exists(mark)}
    )


def _without_bad_scopes(
    catalogue: Catalogue, loaded: LoadedPolicy
) -> tuple[LoadedPolicy, list[Finding]]:
    """The policy with only its valid scopes, and a finding for each invalid one."""
    good, found = dict[str, Any](), list[Finding]()
    for domain, raw in loaded.policy.scopes.items():
        alone = SecurityPolicy(id=loaded.policy.id, scopes={domain: raw})
        try:
            catalogue.terms_of(replace(loaded, policy=alone))
        except PolicyInvalidError as error:
            what = error.message.partition(": ")[2]
            place = json_pointer("scopes", domain)
            found.append(finding(LintCode.BAD_SCOPE, place, what, "correct the scope"))
        else:
            good[domain] = raw
    return replace(loaded, policy=loaded.policy.model_copy(update={"scopes": good})), found


def _without_unknown_labels(
    catalogue: Catalogue, loaded: LoadedPolicy
) -> tuple[LoadedPolicy, list[Finding]]:
    """The policy without flow rules about labels that nothing gives, and a finding for each."""
    labels = [(mark, place) for mark, place in marks_in(loaded.policy) if "." not in mark]
    every = {mark for mark, _ in labels}
    plain = replace(loaded, policy=without_marks(loaded.policy, every))
    known = known_labels(catalogue.terms_of(plain))
    found = []
    for label, place in labels:
        if label not in known:
            meant = nearest(label, known)
            remedy = f"write `{meant}`, if that was meant" if meant else "give it in `labels`"
            message = f"nothing gives the label `{label}`"
            found.append(finding(LintCode.UNKNOWN_RULE, place, message, remedy))
    policy = without_marks(loaded.policy, every - set(known))
    return replace(loaded, policy=policy), found


def _trifecta(linted: _LintedPolicy) -> Iterator[Finding]:
    return trifecta(linted.catalogue, linted.terms)


def trifecta(catalogue: Catalogue, terms: GrantTerms) -> Iterator[Finding]:
    """Private data, untrusted content and a way out, with no rule between them: one finding."""
    capabilities = catalogue.capabilities
    egress = frozenset(name for name, entry in capabilities.items() if entry.spec.egress)
    for secret, page, out in open_ways(terms, egress):
        message = (
            f"`{secret}` gives private data, `{page}` untrusted content, and `{out}` sends: a "
            "page can make the code send the data"
        )
        remedy = (
            'add to `flows`: {"id": "no-exfiltration", "after": ["private", "untrusted"], '
            '"deny": ["egress"]}'
        )
        yield finding(LintCode.LETHAL_TRIFECTA, json_pointer("flows"), message, remedy)
        return


def _rules(linted: _LintedPolicy) -> Iterator[Finding]:
    """Rules that match nothing, that another rule covers, or that allow a whole domain."""
    policy = linted.policy
    for key in _LISTS:
        rules = getattr(policy, key)
        for rule in rules:
            place = rule_place(linted.written, key, rule)
            yield from _needless_rule(linted, rule, place, among=rules)
    for rule in policy.dry_run:
        place = rule_place(linted.written, "deny", rule, RuleMode.DRY_RUN)
        yield from _needless_rule(linted, rule, place, among=(*policy.deny, *policy.dry_run))
    for rule in policy.allow:
        if rule.endswith(".*") and len(linted.covered(rule)) > 1:
            names = ", ".join(sorted(linted.covered(rule)))
            message = f"`{rule}` allows {names}, and what is registered there later"
            remedy = "list the capabilities that the code needs"
            place = rule_place(linted.written, "allow", rule)
            yield finding(LintCode.WHOLE_DOMAIN, place, message, remedy)


def _needless_rule(
    linted: _LintedPolicy, rule: str, place: str, *, among: Collection[str]
) -> Iterator[Finding]:
    whole = f"{domain_of(rule)}.*"
    if not linted.covered(rule):
        message = f"`{rule}` covers a domain without any capability"
        yield finding(LintCode.EMPTY_RULE, place, message, "remove it")
    elif rule != whole and whole in among:
        message = f"`{rule}` is covered by `{whole}`"
        yield finding(LintCode.REDUNDANT_RULE, place, message, "remove one of the two")


def _idle_rules(linted: _LintedPolicy) -> Iterator[Finding]:
    """Rules without any effect."""
    policy, allowed, written = linted.policy, linted.allowed(), linted.written
    for rule in policy.allow:
        covered = linted.covered(rule)
        if covered and not covered & allowed:
            by = sorted({str(policy.verdict(name).rule) for name in covered})
            message = f"`{rule}` allows nothing, for `deny` has {', '.join(by)}"
            place = rule_place(written, "allow", rule)
            yield finding(LintCode.SHADOWED_ALLOW, place, message, "remove one of the two")
    for rule in policy.deny:
        if linted.covered(rule) and not any(
            matching_rule(policy.allow, name) for name in linted.covered(rule)
        ):
            message = f"`{rule}` denies what no rule allows"
            remedy = "keep it if it should hold whatever is allowed later"
            yield finding(LintCode.IDLE_DENY, rule_place(written, "deny", rule), message, remedy)


def _idle_bounds(linted: _LintedPolicy) -> Iterator[Finding]:
    """Approvals, rates and scopes for capabilities that are not allowed."""
    policy, allowed, written = linted.policy, linted.allowed(), linted.written
    for rule in policy.approve:
        if linted.covered(rule) and not linted.covered(rule) & allowed:
            message = f"`{rule}` asks for the approval of what is not allowed"
            place = rule_place(written, "approve", rule)
            yield finding(LintCode.IDLE_APPROVE, place, message, "allow it, or remove the rule")
    for rule in policy.limits.rates:
        bounded = {n for n in linted.covered(rule) if matching_rule(policy.limits.rates, n) == rule}
        if not bounded & allowed:
            message = f"the rate of `{rule}` bounds nothing that is allowed"
            place = json_pointer("limits", "rates", rule)
            yield finding(LintCode.IDLE_RATE, place, message, "remove it")
    for domain in policy.scopes:
        if not any(domain_of(name) == domain for name in allowed):
            message = f"nothing of `{domain}` is allowed, so its scope has no effect"
            place = json_pointer("scopes", domain)
            yield finding(LintCode.IDLE_SCOPE, place, message, "remove it, or allow something")


def _unsatisfiable(linted: _LintedPolicy) -> Iterator[Finding]:
    """What is allowed and can never happen."""
    for name in sorted(linted.allowed()):
        terms = linted.terms.terms[name]
        domain, _, function = name.partition(".")
        rule = matching_rule(linted.policy.allow, name) or name
        place = rule_place(linted.written, "allow", rule)
        if terms.withheld is ReasonCode.SCOPE_MISSING:
            message = f"`{name}` is allowed and reaches nothing without `scopes.{domain}`"
            yield finding(LintCode.MISSING_SCOPE, place, message, f"give `scopes.{domain}`")
        key = terms.scope.never(function) if terms.scope is not None else None
        if key is not None:
            message = f"`{name}` is allowed and `scopes.{domain}.{key}` refuses every call of it"
            remedy = f"remove `{name}` from what is allowed, or change `{key}`"
            yield finding(LintCode.NEVER_ALLOWED, place, message, remedy)
    if linted.policy.limits.calls == 0 and linted.allowed():
        message = "capabilities are allowed and `limits.calls` is 0"
        remedy = "raise it, or allow nothing"
        yield finding(LintCode.NO_CALLS, json_pointer("limits", "calls"), message, remedy)


def _scopes(linted: _LintedPolicy) -> Iterator[Finding]:
    """The concerns that each scope reports itself."""
    for domain, raw in linted.policy.scopes.items():
        functions = functions_of(linted.terms, domain)
        scope = scope_of(linted.terms, domain)
        if scope is None or not functions:
            continue
        for concern in scope.concerns(functions, frozenset(raw)):
            yield Finding(
                code=concern.code,
                severity=concern.severity,
                place=json_pointer("scopes", domain, *concern.place),
                message=concern.message,
                remedy=concern.remedy,
            )


def _reaches(linted: _LintedPolicy) -> Iterator[Finding]:
    """Scopes that let code change or read a protected path."""
    for domain in linted.policy.scopes:
        scope, functions = scope_of(linted.terms, domain), functions_of(linted.terms, domain)
        if scope is None or not functions:
            continue
        place = json_pointer("scopes", domain)
        changed = reached_by(linted.terms, domain, linted.protected)
        read = first_reached(scope.readable_directories(functions), linted.protected)
        if changed is not None:
            message = f"code may change files where {changed.message}; no runtime takes it"
            remedy = "name a directory apart from it, or grant only reading"
            yield finding(LintCode.REACHES_POLICY, place, message, remedy)
        elif read is not None:
            message = f"code may read files where {read.message}"
            remedy = "name a directory apart from it"
            yield finding(LintCode.READS_POLICY, place, message, remedy)


def _modules(linted: _LintedPolicy) -> Iterator[Finding]:
    for name in linted.policy.modules:
        place = rule_place(linted.written, "modules", name)
        message = f"`{name}` is a real module: code that has it has left the language layer"
        remedy = "keep it only if the code cannot do without; the kernel layers hold it"
        yield finding(LintCode.REAL_MODULE, place, message, remedy)


def _limits(linted: _LintedPolicy) -> Iterator[Finding]:
    for name in Limits.model_fields:
        value, safe = getattr(linted.policy.limits, name), getattr(_SAFE, name)
        if isinstance(value, int) and value > safe:
            message = f"`limits.{name}` is {value}, beyond the default of {safe}"
            remedy = "lower it to what the code was seen to use, with a margin"
            yield finding(LintCode.HIGH_LIMIT, json_pointer("limits", name), message, remedy)


def _tests(linted: _LintedPolicy) -> Iterator[Finding]:
    """Tests that fail, and what no test covers."""
    policy = linted.policy
    for outcome in run_tests(linted.terms, policy.tests, source=""):
        if not outcome.passed:
            message = (
                f"`{outcome.call}` should {outcome.expect}, got {outcome.got}: {outcome.reason}"
            )
            place = json_pointer("tests", outcome.index)
            yield finding(LintCode.FAILING_TEST, place, message, "correct the policy or the test")
    if not policy.tests:
        message = "the policy has no tests"
        remedy = "add a call that must pass and one that must not"
        yield finding(LintCode.NO_TESTS, json_pointer("tests"), message, remedy)
        return
    if not any(test.expect == "deny" for test in policy.tests):
        message = "no test expects a denial"
        remedy = "add a call that must never pass"
        yield finding(LintCode.NO_DENY_TEST, json_pointer("tests"), message, remedy)
    tested = {test.call for test in policy.tests if test.expect != "deny"}
    for name in sorted(granted(linted.terms) - tested):
        message = f"`{name}` is granted and no test expects it to be allowed or approved"
        yield finding(LintCode.UNTESTED, json_pointer("tests"), message, "add one")
