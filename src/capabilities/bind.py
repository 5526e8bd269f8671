"""(3) Binding a policy to a registry: every name must exist, every scope must parse.

A misspelt rule is an error and never a rule that silently matches nothing: a deny that denies
nothing is a wider grant. The policy's own tests run last, against the real decision function.

Before a bound policy comes into force, `check_protected_paths` refuses one whose scopes let code
change the policy file, the approvals directory or the audit log: write access to one of these is
the power to do anything.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import msgspec
import pydantic
import rfc8785

from caps.capabilities.chain import chain_of
from caps.capabilities.flow_terms import (
    bound_flows,
    functions_in_flows,
    known_labels,
    labels_in_flows,
)
from caps.capabilities.grant import BoundCapability, BoundPolicy, Grant
from caps.capabilities.on_demand import Once, OnDemand
from caps.capabilities.provider import Scope
from caps.capabilities.registration import RegisteredCapability, RegisteredDomain
from caps.protocol.errors import PolicyInvalidError
from caps.protocol.text import did_you_mean
from caps.security.decision import decide, evaluate_terms
from caps.security.policies.flow_rules import NO_MARKS, marks_after
from caps.security.policies.load import LoadedPolicy, first_error, json_problem
from caps.security.policies.names import domain_of
from caps.security.policies.protected_paths import (
    MAX_PATH_BYTES,
    ProtectedPath,
    ProtectedPathReached,
    can_exist,
    first_reached,
)
from caps.security.policy import SecurityPolicy
from caps.security.reasons import ReasonCode
from caps.security.request import NOTHING_USED, Request

_TERMS_DOMAIN = b"caps.terms.v1\0"


def bind_policy(
    loaded: LoadedPolicy,
    domains: Mapping[str, RegisteredDomain],
    capabilities: Mapping[str, RegisteredCapability],
    *,
    run_tests: bool = True,
) -> BoundPolicy:
    """Bind the policy: its terms for every registered capability, after its tests passed.

    Only the tools that review policies skip the tests; such a policy never comes into force.
    """
    _check_names(loaded, domains, capabilities)
    scopes = _parse_scopes(loaded, domains)
    _check_labels(loaded, capabilities, scopes)
    rules = {name: _rule(loaded.policy, domains, scopes, name) for name in sorted(capabilities)}
    terms = OnDemand(
        {
            name: Once(functools.partial(_terms, loaded, name, capabilities, rule, scopes))
            for name, rule in rules.items()
        }
    )
    granted = tuple(name for name, (_, withheld) in rules.items() if withheld is None)
    bound = BoundPolicy(
        policy=loaded.policy,
        source=loaded.source,
        terms=terms,
        granted=granted,
        reasons=MappingProxyType(
            {name: withheld for name, (_, withheld) in rules.items() if withheld is not None}
        ),
        manifest=tuple(terms[name].manifest_entry for name in granted),
        terms_sha256=_terms_digest(loaded.policy, scopes),
    )
    if run_tests:
        _run_tests(bound)
    return bound


def _terms_digest(policy: SecurityPolicy, scopes: Mapping[str, Scope]) -> str:
    texts = {name: _scope_text(scope) for name, scope in scopes.items()}
    canonical = rfc8785.dumps({"policy": policy.sha256, "scopes": texts})
    return hashlib.sha256(_TERMS_DOMAIN + canonical).hexdigest()


def _scope_text(scope: Scope) -> str:
    try:
        return scope.model_dump_json()
    except ValueError:
        return repr(scope)  # a custom model that JSON cannot represent


def _invalid(loaded_source: str, place: str, message: str) -> PolicyInvalidError:
    return PolicyInvalidError(
        f"policy `{loaded_source}`: {message} at {place}", source=loaded_source, place=place
    )


_NOTHING_REGISTERED = "; nothing is, so give `Runtime` a registry, as `registry=builtin_registry()`"


def _check_names(
    loaded: LoadedPolicy,
    domains: Mapping[str, RegisteredDomain],
    capabilities: Mapping[str, RegisteredCapability],
) -> None:
    policy = loaded.policy
    listed = {
        "allow": policy.allow,
        "deny": [each.rule for each in policy.deny_rules],
        "approve": policy.approve,
    }
    rules = [(key, rule) for key, these in listed.items() for rule in these]
    rules += [(f"limits.rates.{rule}", rule) for rule in policy.limits.rates]
    rules += [(f"labels.{rule}", rule) for rule in policy.labels]
    rules += functions_in_flows(policy)
    for place, rule in rules:
        domain, _, function = rule.partition(".")
        known = domain in domains if function == "*" else rule in capabilities
        if not known:
            everything = [*capabilities, *(f"{name}.*" for name in domains)]
            hint = did_you_mean(rule, everything) if everything else _NOTHING_REGISTERED
            raise _invalid(loaded.source, place, f"no capability `{rule}` is registered{hint}")


def _check_labels(
    loaded: LoadedPolicy,
    capabilities: Mapping[str, RegisteredCapability],
    scopes: Mapping[str, Scope],
) -> None:
    """A rule about a label that nothing can give would never apply."""
    labels = labels_in_flows(loaded.policy)
    # Without such a rule only the scopes are asked, which must be able to answer.
    specs = (
        capabilities[name].spec for name in capabilities if labels or domain_of(name) in scopes
    )
    try:
        known = known_labels(loaded.policy, specs, scopes)
    except Exception as error:
        what = f"a scope cannot say its labels, `{type(error).__name__}`"
        raise _invalid(loaded.source, "scopes", what) from error
    for place, label in labels:
        if label not in known:
            hint = did_you_mean(label, sorted(known))
            raise _invalid(loaded.source, place, f"nothing gives the label `{label}`{hint}")


def _parse_scopes(
    loaded: LoadedPolicy, domains: Mapping[str, RegisteredDomain]
) -> dict[str, Scope]:
    scopes: dict[str, Scope] = {}
    for name, raw in loaded.policy.scopes.items():
        place = f"scopes.{name}"
        domain = domains.get(name)
        if domain is None:
            hint = did_you_mean(name, domains)
            raise _invalid(loaded.source, place, f"no domain `{name}` is registered{hint}")
        if domain.scope is None:
            raise _invalid(loaded.source, place, f"domain `{name}` takes no scope")
        scopes[name] = _parse_scope(loaded, place, domain.scope, raw)
    return scopes


def _parse_scope(
    loaded: LoadedPolicy, place: str, model: type[Scope], raw: Mapping[str, object]
) -> Scope:
    try:
        scope: object = model.model_validate(dict(raw)).anchored(loaded.base)
    except pydantic.ValidationError as error:
        first = first_error(error)
        where = ".".join([place, *(str(part) for part in first["loc"])])
        what = json_problem(first)
        if first["type"] == "extra_forbidden":
            known = list(model.model_fields) if len(first["loc"]) == 1 else []  # not of its parts
            takes = f"; it takes {', '.join(f'`{name}`' for name in known)}" if known else ""
            what = f"unknown key{did_you_mean(str(first['loc'][-1]), known) or takes}"
        raise _invalid(loaded.source, where, what) from None
    except Exception as error:
        what = f"the scope model failed with `{type(error).__name__}`"
        raise _invalid(loaded.source, place, what) from error
    if not isinstance(scope, model):
        what = f"`anchored` must return a `{model.__name__}`, not `{type(scope).__name__}`"
        raise _invalid(loaded.source, place, what)
    return scope


def _rule(
    policy: SecurityPolicy,
    domains: Mapping[str, RegisteredDomain],
    scopes: Mapping[str, Scope],
    name: str,
) -> tuple[str | None, ReasonCode | None]:
    """The rule that grants a capability, and why it is withheld if it is."""
    domain = domains[domain_of(name)]
    return evaluate_terms(
        policy,
        name,
        has_scope_model=domain.scope is not None,
        scope_given=domain.name in scopes,
    )


def _terms(
    loaded: LoadedPolicy,
    name: str,
    capabilities: Mapping[str, RegisteredCapability],
    evaluated: tuple[str | None, ReasonCode | None],
    scopes: Mapping[str, Scope],
) -> BoundCapability:
    entry = capabilities[name]
    rule, withheld = evaluated
    verdict = loaded.policy.verdict(name)
    return BoundCapability(
        spec=entry.spec,
        provider=entry.provider,
        schema_in=entry.schema_in,
        schema_out=entry.schema_out,
        rule=rule,
        withheld=withheld,
        scope=scopes.get(domain_of(name)),
        rate=loaded.policy.limits.rate_for(name),
        approve=verdict.approve,
        dry_run=verdict.dry_run,
        labels=(frozenset(entry.spec.labels) | loaded.policy.labels_of(name)) or NO_MARKS,
        flows=bound_flows(loaded.policy, entry.spec),
    )


def _run_tests(bound: BoundPolicy) -> None:
    grant = Grant(execution_id="policy-test", namespace="caps", chain=chain_of(bound))
    for index, test in enumerate(bound.policy.tests):
        usage = msgspec.structs.replace(NOTHING_USED, answered=marks_after(bound.terms, test.after))
        decision = decide(grant, Request(test.call, test.payload), usage)
        got = decision.expectation
        if got != test.expect:
            raise _invalid(
                bound.source,
                f"tests[{index}]",
                f"`{test.call}` was expected to {test.expect} and gave {got} "
                f"({decision.reason.value}: {decision.message})",
            )


def check_protected_paths(bound: BoundPolicy, protected: Sequence[ProtectedPath]) -> BoundPolicy:
    """Return `bound`, marked as checked. PolicyInvalidError if code could change a protected path.

    Paths that `bound` was checked against before are checked again together with new ones.
    """
    paths = tuple(dict.fromkeys((*bound.guarded, *protected)))
    if paths == bound.guarded:
        return bound
    secrets = tuple(each for each in paths if each.is_secret and each.path.exists())
    for domain in bound.policy.scopes:
        reached = first_reached(_directories(bound, domain, "writable_directories"), paths)
        if reached is not None:
            raise _protected_path_error(bound, domain, reached, "change")
        reached = first_reached(_directories(bound, domain, "readable_directories"), secrets)
        if reached is not None:
            raise _protected_path_error(bound, domain, reached, "read")
    return replace(bound, guarded=paths)


def _directories(
    bound: BoundPolicy,
    domain: str,
    which: Literal["readable_directories", "writable_directories"],
) -> tuple[Path, ...]:
    """The directories that the granted capabilities of `domain` can read, or change."""
    granted = [bound.terms[name] for name in bound.granted if domain_of(name) == domain]
    scope = granted[0].scope if granted else None
    functions = frozenset(terms.name.partition(".")[2] for terms in granted)
    if scope is None:
        return ()
    found: object = getattr(scope, which)(functions)
    # A string would be taken for the directories that its characters name.
    if not isinstance(found, (tuple, list)) or not all(isinstance(each, Path) for each in found):
        what = f"`{which}` must return a tuple of `Path`s"
        raise _invalid(bound.source, f"scopes.{domain}", what)
    if not all(can_exist(each) for each in found):
        what = f"a directory is not a path of at most {MAX_PATH_BYTES} bytes"
        raise _invalid(bound.source, f"scopes.{domain}", what)
    return tuple(found)


def _protected_path_error(
    bound: BoundPolicy, domain: str, reached: ProtectedPathReached, how: str
) -> PolicyInvalidError:
    otherwise = ", or grant only reading," if how == "change" else ","
    what = (
        f"code may {how} files where {reached.message}; name a directory apart from it{otherwise}"
    )
    return _invalid(bound.source, f"scopes.{domain}", what)
