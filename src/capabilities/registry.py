"""(2) The registry of functions and capabilities. Empty until something is registered.

Registration defines what *can* be done; only a policy defines what *may* be done. `bind` applies a
policy to the registry and refuses one that names what does not exist; `inject` makes the grant of
one execution from the bound policy.

A function is what code calls, `caps.<domain>.<function>`. A capability is what an agent is given: a
bundle of tools with functions behind them. `resolve` turns an agent's capabilities into a policy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

import pydantic

from caps.capabilities.bind import bind_policy, check_protected_paths
from caps.capabilities.catalogue.capability import (
    Capability,
    CapabilityFields,
    Resolver,
)
from caps.capabilities.catalogue.catalogue import Catalogue
from caps.capabilities.catalogue.context import NO_CONTEXT, ResolverContext
from caps.capabilities.chain import PolicyChain, chain_of, check_length
from caps.capabilities.grant import NO_COSTS, BoundPolicy, Grant, in_millionths
from caps.capabilities.on_demand import Once, OnDemand
from caps.capabilities.provider import Provider, Scope
from caps.capabilities.registration import (
    CardTerms,
    RegisteredCapability,
    RegisteredDomain,
    invalid_spec,
    registered_function,
)
from caps.capabilities.signature import derive
from caps.capabilities.spec import CapabilitySpec, DomainName
from caps.protocol.argument_checks import require
from caps.protocol.errors import RegistrationError
from caps.security.policies.load import LoadedPolicy, PolicySource, listed, load_policy
from caps.security.policies.names import domain_of, quoted
from caps.security.policies.protected_paths import ProtectedPath

if TYPE_CHECKING:
    from caps.capabilities.catalogue.declaration import CapabilityDescriptor
    from caps.capabilities.catalogue.injections import ExecutionMode
    from caps.capabilities.catalogue.result import ResolvedCapabilities

PolicyGiven = PolicySource | BoundPolicy
PoliciesGiven = PolicyGiven | Sequence[PolicyGiven]
Function = TypeVar("Function", bound=Callable[..., Any])
ResolverFunction = TypeVar("ResolverFunction", bound=Resolver)
Declared = TypeVar("Declared", bound=Capability | type[Capability])
_DOMAIN_NAME: pydantic.TypeAdapter[str] = pydantic.TypeAdapter(DomainName)


class CapabilityRegistry:
    """All domains, functions and capabilities that exist."""

    def __init__(self) -> None:
        self._domains: dict[str, RegisteredDomain] = {}
        self._capabilities: dict[str, Once[RegisteredCapability]] = {}
        self._deferring = False
        self._catalogue = Catalogue()
        self._uncarded: frozenset[str] = frozenset()
        self._costs: Mapping[str, int] = NO_COSTS
        self._cards: Mapping[str, CardTerms] = MappingProxyType({})

    def __contains__(self, name: object) -> bool:
        return name in self._capabilities

    def __len__(self) -> int:
        return len(self._capabilities)

    def __iter__(self) -> Iterator[CapabilitySpec]:
        return (self._capabilities[name].get().spec for name in sorted(self._capabilities))

    @property
    def domains(self) -> Mapping[str, RegisteredDomain]:
        return dict(self._domains)

    @property
    def capabilities(self) -> OnDemand[RegisteredCapability]:
        """Every function by name; one that nobody has used yet is derived when it is read."""
        return OnDemand(dict(self._capabilities))

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

    @overload
    def register(self, spec: CapabilitySpec, provider: Provider) -> None: ...
    @overload
    def register(self, spec: Declared) -> Declared: ...
    def register(self, spec: Any, provider: Any = None) -> Any:
        """Add a function with its provider, or a capability, and return the capability.

        A capability is an instance or a class, so this is also a decorator for the class. The
        domain of a function is declared without a scope if it does not exist yet. Raises
        RegistrationError if a name is taken, a provider cannot be called, or a part is not usable.
        """
        if provider is None and not isinstance(spec, CapabilitySpec):
            self._catalogue.register(spec)
            return spec
        return self._register_function(spec, provider)

    def _register_function(self, spec: CapabilitySpec, provider: Provider) -> None:
        entry = registered_function(spec, provider)
        self._add(entry.spec.name, Once(lambda: entry))

    def _add(self, name: str, entry: Once[RegisteredCapability]) -> None:
        if name in self._capabilities:
            raise RegistrationError(f"`{name}` is registered already")
        if domain_of(name) not in self._domains:
            self.domain(domain_of(name))
        self._capabilities[name] = entry

    @contextmanager
    def deferring(self) -> Iterator[None]:
        """Typed functions in this block are derived, and so checked, when they are first used.

        Only for functions that are known to be usable, as the built-in ones, which tests derive.
        """
        before, self._deferring = self._deferring, True
        try:
            yield
        finally:
            self._deferring = before

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
        raises: Sequence[type[Exception]] = (),
        inline: bool | None = None,
        labels: tuple[str, ...] = (),
        egress: bool = False,
    ) -> Callable[[Function], Function]:
        """Register a typed function as the capability `name`; see `signature`.

        The text of the errors in `raises` reaches the code, in a ProviderError whose `error` is the
        name of the class. The text of any other error stays in the log of the host.
        """
        if not isinstance(name, str):
            raise RegistrationError(
                "a capability needs a name of its own: write "
                '`@registry.capability("domain.function")` above the function'
            )

        _require_strings(title=title, description=description)
        fits = isinstance(tags, (set, frozenset, list, tuple))
        require(fits, "tags", tags, "a set of strings", RegistrationError)

        def derived_entry(function: Function) -> RegisteredCapability:
            derived = derive(function, raises)
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
                    raises=tuple(error.__name__ for error in raises),
                    inline=inline,
                    streams=derived.streams,
                    labels=labels,
                    egress=egress,
                )
            except pydantic.ValidationError as error:
                raise invalid_spec(name, error) from None
            return registered_function(spec, derived.provider)

        def register(function: Function) -> Function:
            entry = Once(lambda: derived_entry(function))
            if not self._deferring:
                entry.get()
            self._add(name, entry)
            return function

        return register

    def resolver(
        self, key: str, **fields: Unpack[CapabilityFields]
    ) -> Callable[[ResolverFunction], ResolverFunction]:
        """Register a capability whose `resolve` is the function below this decorator."""

        def register(function: ResolverFunction) -> ResolverFunction:
            capability = Capability(key, **fields)
            capability.resolver = function
            self.register(capability)
            return function

        return register

    def withhold(self, key: str, reason: str) -> None:
        """Say why no agent can be given the capability `key`, which is known and not registered."""
        self._catalogue.withhold(key, reason)

    def register_injection(
        self, capability: Capability | type[Capability], *, modes: Iterable[ExecutionMode]
    ) -> None:
        """Add what every execution of these modes gets, and no agent lists."""
        self._catalogue.register_injection(capability, modes)

    def known_capabilities(self) -> tuple[CapabilityDescriptor, ...]:
        """Every capability with its tools and settings, by key. Resolves and starts nothing."""
        known = self._catalogue.known(self.capabilities, self._domains)
        return tuple(each.descriptor for each in known.values())

    def resolve(
        self,
        capabilities: Mapping[str, Any] | Sequence[str],
        ctx: ResolverContext = NO_CONTEXT,
        *,
        mode: ExecutionMode | None = None,
    ) -> ResolvedCapabilities:
        """What an agent's capabilities amount to, with the injections of `mode`.

        By default the execution is interactive. Raises AgentInvalidError for what does not fit,
        and ProviderError for a capability that fails.
        """
        functions, domains = self.capabilities, dict(self._domains)
        return self._catalogue.resolve(capabilities, ctx, mode, functions, domains)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """Undo every registration inside the block if it raises."""
        kept = dict(self._domains), dict(self._capabilities), self._catalogue.copy()
        try:
            yield
        except BaseException:
            self._domains, self._capabilities, self._catalogue = kept
            raise

    def bind(
        self, policy: PolicySource | LoadedPolicy, *, guarded: Sequence[ProtectedPath] = ()
    ) -> BoundPolicy:
        """Apply a policy to this registry. Raises PolicyInvalidError if the two do not fit.

        Also if its scopes would let code change the policy's own file or a `guarded` path.
        """
        loaded = policy if isinstance(policy, LoadedPolicy) else load_policy(policy)
        bound = bind_policy(loaded, self._domains, self.capabilities)
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
        *,
        budget: float | None = None,
    ) -> Grant:
        """(3) The grant of one execution: what appears as `<namespace>.<domain>.<function>`.

        It rests on all the policies that are given. Pass a `BoundPolicy`, or a chain of them, to do
        the binding once and not for every execution. `budget` lowers `limits.cost` for it.
        """
        chain = policy if isinstance(policy, PolicyChain) else self.chain(policy)
        _check_namespace_beside(namespace, chain.modules)
        return Grant(
            execution_id=execution_id,
            namespace=namespace,
            chain=chain,
            uncarded=self._uncarded,
            costs=self._costs,
            budget=budget,
        )

    def refuse_uncarded(self, names: Iterable[str]) -> None:
        """From now on, grants refuse these functions: no valid tool card describes them.

        Replaces the names of an earlier call. Executions that are running keep their grant.
        """
        self._uncarded = frozenset(names)

    def use_cards(self, cards: Mapping[str, CardTerms]) -> None:
        """From now on, these say what the functions cost and do; grants count the costs.

        Replaces those of an earlier call. Executions that are running keep their grant. Raises
        ConfigurationError for a cost that is not a number in its bounds.
        """
        estimates = {name: card.cost_estimate or 0.0 for name, card in cards.items()}
        self._costs = in_millionths(estimates)
        self._cards = MappingProxyType(dict(cards))

    @property
    def cards(self) -> Mapping[str, CardTerms]:
        """What the tool cards in force say; a function that has none is not in it."""
        return self._cards

    def terms_of(self, *loaded: LoadedPolicy) -> Grant:
        """Policies applied to everything registered, for the tools that review policies.

        Their tests are not run, so no code may run under them. Raises PolicyInvalidError.
        """
        bound = [
            bind_policy(each, self._domains, self.capabilities, run_tests=False) for each in loaded
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


@functools.lru_cache(maxsize=64)
def _check_namespace_beside(name: str, modules: tuple[str, ...]) -> None:
    """RegistrationError unless it is a namespace, and not one of the modules that code can import.

    What fits is found once for all executions; an error is raised each time.
    """
    check_namespace(name)
    if any(module.partition(".")[0] == name for module in modules):
        raise RegistrationError(
            f"`{name}` cannot be the name of a namespace: the policy grants the module"
        )


def _require_strings(**given: object) -> None:
    for name, value in given.items():
        require(isinstance(value, str), name, value, "a `str`", RegistrationError)
