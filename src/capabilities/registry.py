"""(2) The registry of capabilities. Empty until something is registered.

Registration defines what *can* be done; only a policy defines what *may* be done. `bind` applies a
policy to the registry and refuses one that names what does not exist; `inject` makes the grant of
one execution from the bound policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pydantic

from caps.capabilities.bind import (
    RegisteredCapability,
    RegisteredDomain,
    bind_policy,
    check_protected_paths,
)
from caps.capabilities.chain import PolicyChain, chain_of, check_length
from caps.capabilities.grant import BoundPolicy, Grant
from caps.capabilities.provider import Provider, Scope, has_no_await
from caps.capabilities.schema import CompiledSchema
from caps.capabilities.signature import derive
from caps.capabilities.spec import CapabilitySpec, DomainName
from caps.protocol.argument_checks import require
from caps.protocol.errors import RegistrationError
from caps.security.policies.load import LoadedPolicy, PolicySource, listed, load_policy
from caps.security.policies.names import quoted
from caps.security.policies.protected_paths import ProtectedPath

PolicyGiven = PolicySource | BoundPolicy
PoliciesGiven = PolicyGiven | Sequence[PolicyGiven]
Function = TypeVar("Function", bound=Callable[..., Any])
_DOMAIN_NAME: pydantic.TypeAdapter[str] = pydantic.TypeAdapter(DomainName)


class CapabilityRegistry:
    """All domains and capabilities that exist."""

    def __init__(self) -> None:
        self._domains: dict[str, RegisteredDomain] = {}
        self._capabilities: dict[str, RegisteredCapability] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._capabilities

    def __len__(self) -> int:
        return len(self._capabilities)

    def __iter__(self) -> Iterator[CapabilitySpec]:
        return (self._capabilities[name].spec for name in sorted(self._capabilities))

    @property
    def domains(self) -> Mapping[str, RegisteredDomain]:
        return dict(self._domains)

    @property
    def capabilities(self) -> Mapping[str, RegisteredCapability]:
        return dict(self._capabilities)

    def domain(
        self,
        name: str,
        *,
        scope: type[Scope] | None = None,
        title: str = "",
        description: str = "",
    ) -> None:
        """Declare a domain. RegistrationError if it exists already or the name is not valid."""
        try:
            _DOMAIN_NAME.validate_python(name, strict=True)
        except pydantic.ValidationError:
            shown = quoted(str(name))
            raise RegistrationError(
                f"{shown} is not a valid domain name; use [a-z][a-z0-9_]*"
            ) from None
        kind: object = scope  # the caller may pass anything
        fits = kind is None or (isinstance(kind, type) and issubclass(kind, Scope))
        require(fits, "scope", scope, "a class derived from `Scope`", RegistrationError)
        _require_strings(title=title, description=description)
        if name in self._domains:
            raise RegistrationError(f"domain `{name}` is declared already")
        self._domains[name] = RegisteredDomain(
            name=name, scope=scope, title=title, description=description
        )

    def register(self, spec: CapabilitySpec, provider: Provider) -> None:
        """Add a capability. Its domain is declared without a scope if it does not exist yet.

        Raises RegistrationError if the name is taken, the provider cannot be called, or a schema
        is not usable.
        """
        require(
            isinstance(spec, CapabilitySpec), "spec", spec, "a `CapabilitySpec`", RegistrationError
        )
        spec = _validated(spec)
        if spec.name in self._capabilities:
            raise RegistrationError(f"`{spec.name}` is registered already")
        known = spec.schema_in.get("properties", {})
        for name in spec.shown:
            if name not in known:
                raise RegistrationError(
                    f"`{spec.name}`: `shown` names `{name}`, which is not a parameter"
                )
        if not callable(provider):
            raise RegistrationError(f"the provider of `{spec.name}` cannot be called")
        entry = RegisteredCapability(
            spec=_with_inline(spec, provider),
            provider=provider,
            schema_in=CompiledSchema(_closed_object(spec), f"schema_in of `{spec.name}`"),
            schema_out=CompiledSchema(spec.schema_out, f"schema_out of `{spec.name}`"),
        )
        if spec.domain not in self._domains:
            self.domain(spec.domain)
        self._capabilities[spec.name] = entry

    def capability(
        self,
        name: str,
        *,
        title: str = "",
        description: str = "",
        tags: frozenset[str] | set[str] = frozenset(),
        shown: tuple[str, ...] = (),
        idempotent: bool = False,
        timeout_ms: int | None = None,
        inline: bool | None = None,
        labels: tuple[str, ...] = (),
        egress: bool = False,
    ) -> Callable[[Function], Function]:
        """Register a typed function as the capability `name`; see `signature`."""
        if not isinstance(name, str):
            raise RegistrationError(
                "a capability needs a name of its own: write "
                '`@registry.capability("domain.function")` above the function'
            )

        _require_strings(title=title, description=description)
        fits = isinstance(tags, (set, frozenset, list, tuple))
        require(fits, "tags", tags, "a set of strings", RegistrationError)

        def register(function: Function) -> Function:
            derived = derive(function)
            try:
                spec = CapabilitySpec(
                    name=name,
                    schema_in=derived.schema_in,
                    schema_out=derived.schema_out,
                    tags=frozenset(tags),
                    title=title,
                    description=description or derived.description,
                    shown=shown,
                    idempotent=idempotent,
                    timeout_ms=timeout_ms,
                    inline=inline,
                    labels=labels,
                    egress=egress,
                )
            except pydantic.ValidationError as error:
                raise _invalid_spec(name, error) from None
            self.register(spec, derived.provider)
            return function

        return register

    def bind(
        self, policy: PolicySource | LoadedPolicy, *, guarded: Sequence[ProtectedPath] = ()
    ) -> BoundPolicy:
        """Apply a policy to this registry. Raises PolicyInvalidError if the two do not fit.

        Also if its scopes would let code change the policy's own file or a `guarded` path.
        """
        loaded = policy if isinstance(policy, LoadedPolicy) else load_policy(policy)
        bound = bind_policy(loaded, self._domains, self._capabilities)
        return check_protected_paths(bound, (*loaded.protected, *guarded))

    def chain(self, policies: PoliciesGiven) -> PolicyChain:
        """One policy or several, of which each must allow, each bound to this registry.

        Raises PolicyInvalidError; also for an empty list.
        """
        given: tuple[PolicyGiven, ...] = listed(policies)
        check_length(len(given))
        return chain_of(
            *(each if isinstance(each, BoundPolicy) else self.bind(each) for each in given)
        )

    def inject(
        self,
        namespace: str,
        execution_id: str,
        policy: PoliciesGiven | PolicyChain,
    ) -> Grant:
        """(3) The grant of one execution: what appears as `<namespace>.<domain>.<function>`.

        It rests on all the policies that are given. Pass a `BoundPolicy`, or a chain of them, to do
        the binding once and not for every execution.
        """
        check_namespace(namespace)
        chain = policy if isinstance(policy, PolicyChain) else self.chain(policy)
        if namespace in chain.modules:
            raise RegistrationError(
                f"`{namespace}` cannot be the name of a namespace: the policy grants the module"
            )
        return Grant(execution_id=execution_id, namespace=namespace, chain=chain)

    def terms_of(self, *loaded: LoadedPolicy) -> Grant:
        """Policies applied to everything registered, for the tools that review policies.

        Their tests are not run, so no code may run under them. Raises PolicyInvalidError.
        """
        bound = [
            bind_policy(each, self._domains, self._capabilities, run_tests=False) for each in loaded
        ]
        return Grant(execution_id="review", namespace="caps", chain=chain_of(*bound))

    def describe(self) -> list[dict[str, Any]]:
        """Every capability with its schemas, for documentation and prompts."""
        return [
            {
                **spec.model_dump(mode="json", exclude={"tags"}),
                "tags": sorted(spec.tags),
                "domain": spec.domain,
                "scope_schema": self._scope_schema(spec.domain),
            }
            for spec in self
        ]

    def _scope_schema(self, domain: str) -> dict[str, Any] | None:
        model = self._domains[domain].scope
        return None if model is None else model.model_json_schema()


def check_namespace(name: str) -> None:
    """RegistrationError unless code can write `name` as an identifier that is not private."""
    if not name.isidentifier() or name.startswith("_"):
        raise RegistrationError(f"{quoted(name)} cannot be the name of a namespace")


def _validated(spec: CapabilitySpec) -> CapabilitySpec:
    """`spec`, validated again: `model_construct` and `model_copy` check nothing."""
    try:
        return CapabilitySpec.model_validate(dict(spec))
    except pydantic.ValidationError as error:
        raise _invalid_spec(str(getattr(spec, "name", "")), error) from None


def _invalid_spec(name: str, error: pydantic.ValidationError) -> RegistrationError:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return RegistrationError(f"capability {quoted(name)}: {place}: {first['msg']}")


def _require_strings(**given: object) -> None:
    for name, value in given.items():
        require(isinstance(value, str), name, value, "a `str`", RegistrationError)


def _with_inline(spec: CapabilitySpec, provider: Provider) -> CapabilitySpec:
    """`spec` with `inline` set: as it was declared, or by whether `provider` can suspend."""
    possible = has_no_await(provider)
    if spec.inline and not possible:
        raise RegistrationError(
            f"`{spec.name}` cannot be inline: its provider is not an `async def` without `await`"
        )
    wanted = possible if spec.inline is None else spec.inline
    return spec if spec.inline is wanted else spec.model_copy(update={"inline": wanted})


def _closed_object(spec: CapabilitySpec) -> dict[str, Any]:
    """The schema of the payload, always an object. An empty schema means no arguments."""
    if not spec.schema_in:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    return {"type": "object", **spec.schema_in}
