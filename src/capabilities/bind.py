"""(3) Setting a policy against a registry: every name must exist, every scope must parse.

A misspelt rule is an error and never a rule that silently matches nothing: a deny that denies
nothing is a wider grant. The policy's own tests run last, against the real decision function.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec
import pydantic
import rfc8785

from caps.capabilities.grant import BoundPolicy, Grant, Terms
from caps.capabilities.provider import Provider, Scope, never_waits
from caps.capabilities.schema import CompiledSchema
from caps.capabilities.spec import CapabilitySpec
from caps.protocol.errors import PolicyInvalidError
from caps.security.decision import NOTHING_USED, Request, decide, evaluate_terms
from caps.security.policies.names import nearest
from caps.security.policy import SecurityPolicy
from caps.security.policies.load import LoadedPolicy

_TERMS_DOMAIN = b"caps.terms.v1\0"


class Domain(msgspec.Struct, frozen=True, kw_only=True):
    """A family of capabilities that share a scope model (none: it takes no scope)."""

    name: str
    scope: type[Scope] | None = None
    title: str = ""
    description: str = ""


class Registered(msgspec.Struct, frozen=True, kw_only=True):
    """A capability with its provider and its compiled schemas."""

    spec: CapabilitySpec
    provider: Provider
    schema_in: CompiledSchema
    schema_out: CompiledSchema


def bind_policy(
    loaded: LoadedPolicy,
    domains: Mapping[str, Domain],
    capabilities: Mapping[str, Registered],
    *,
    run_tests: bool = True,
) -> BoundPolicy:
    """The policy's terms for every registered capability, its tests passed.

    Only the tools that judge policies bind one without its tests; it never comes into force.
    """
    _check_names(loaded, domains, capabilities)
    scopes = _parse_scopes(loaded, domains)
    terms = {
        name: _terms(loaded, name, capabilities[name], domains, scopes)
        for name in sorted(capabilities)
    }
    granted = tuple(name for name, term in terms.items() if term.withheld is None)
    bound = BoundPolicy(
        policy=loaded.policy,
        source=loaded.source,
        terms=MappingProxyType(terms),
        granted=granted,
        manifest=tuple(terms[name].manifest_entry for name in granted),
        terms_sha256=_terms_digest(loaded.policy, scopes),
    )
    if run_tests:
        _run_tests(bound)
    return bound


def _terms_digest(policy: SecurityPolicy, scopes: Mapping[str, Scope]) -> str:
    spelled = {name: _spelled(scope) for name, scope in scopes.items()}
    canonical = rfc8785.dumps({"policy": policy.sha256, "scopes": spelled})
    return hashlib.sha256(_TERMS_DOMAIN + canonical).hexdigest()


def _spelled(scope: Scope) -> str:
    try:
        return scope.model_dump_json()
    except ValueError:
        return repr(scope)  # a model of somebody's own that JSON cannot carry


def _invalid(loaded_source: str, place: str, message: str) -> PolicyInvalidError:
    return PolicyInvalidError(
        f"policy `{loaded_source}`: {message} at {place}", source=loaded_source, place=place
    )


_NOTHING_REGISTERED = "; nothing is, so give `Runtime` a registry, as `registry=builtin_registry()`"


def _hint(name: str, known: Iterable[str]) -> str:
    found = nearest(name, known)
    return f"; did you mean `{found}`?" if found else ""


def _check_names(
    loaded: LoadedPolicy, domains: Mapping[str, Domain], capabilities: Mapping[str, Registered]
) -> None:
    policy = loaded.policy
    listed = {
        "allow": policy.allow,
        "deny": [each.rule for each in policy.deny_rules],
        "approve": policy.approve,
    }
    rules = [(key, rule) for key, these in listed.items() for rule in these]
    rules += [(f"limits.rates.{rule}", rule) for rule in policy.limits.rates]
    for place, rule in rules:
        domain, _, function = rule.partition(".")
        known = domain in domains if function == "*" else rule in capabilities
        if not known:
            everything = [*capabilities, *(f"{name}.*" for name in domains)]
            hint = _hint(rule, everything) if everything else _NOTHING_REGISTERED
            raise _invalid(loaded.source, place, f"no capability `{rule}` is registered{hint}")


def _parse_scopes(loaded: LoadedPolicy, domains: Mapping[str, Domain]) -> dict[str, Scope]:
    scopes: dict[str, Scope] = {}
    for name, raw in loaded.policy.scopes.items():
        place = f"scopes.{name}"
        domain = domains.get(name)
        if domain is None:
            hint = _hint(name, list(domains))
            raise _invalid(loaded.source, place, f"no domain `{name}` is registered{hint}")
        if domain.scope is None:
            raise _invalid(loaded.source, place, f"domain `{name}` takes no scope")
        scopes[name] = _parse_scope(loaded, place, domain.scope, raw)
    return scopes


def _parse_scope(
    loaded: LoadedPolicy, place: str, model: type[Scope], raw: Mapping[str, object]
) -> Scope:
    try:
        return model.model_validate(dict(raw)).anchored(loaded.base)
    except pydantic.ValidationError as error:
        # A misspelt key comes first: it explains why the right one is missing.
        first = min(error.errors(), key=lambda found: found["type"] != "extra_forbidden")
        where = ".".join([place, *(str(part) for part in first["loc"])])
        hint = ""
        if first["type"] == "extra_forbidden":
            hint = _hint(str(first["loc"][-1]), list(model.model_fields))
        raise _invalid(loaded.source, where, f"{first['msg'].lower()}{hint}") from None


def _terms(
    loaded: LoadedPolicy,
    name: str,
    entry: Registered,
    domains: Mapping[str, Domain],
    scopes: Mapping[str, Scope],
) -> Terms:
    domain = domains[entry.spec.domain]
    scope = scopes.get(domain.name)
    rule, withheld = evaluate_terms(
        loaded.policy, name, has_scope_model=domain.scope is not None, scope_given=scope is not None
    )
    verdict = loaded.policy.verdict(name)
    return Terms(
        spec=entry.spec,
        provider=entry.provider,
        schema_in=entry.schema_in,
        schema_out=entry.schema_out,
        rule=rule,
        withheld=withheld,
        scope=scope,
        rate=loaded.policy.limits.rate_for(name),
        approve=verdict.approve,
        dry_run=verdict.dry_run,
        at_once=never_waits(entry.provider),
    )


def _run_tests(bound: BoundPolicy) -> None:
    grant = Grant(execution_id="policy-test", namespace="caps", bound=bound)
    for index, test in enumerate(bound.policy.tests):
        decision = decide(grant, Request(test.call, test.payload), NOTHING_USED)
        got = decision.expectation
        if got != test.expect:
            raise _invalid(
                bound.source,
                f"tests[{index}]",
                f"`{test.call}` was expected to {test.expect} and gave {got} "
                f"({decision.reason.value}: {decision.message})",
            )
