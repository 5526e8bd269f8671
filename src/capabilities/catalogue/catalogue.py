"""(2) The capabilities and injections of a registry. It is handed the functions; it keeps none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from caps.capabilities.catalogue.capability import Capability, CapabilityStatus
from caps.capabilities.catalogue.context import ResolverContext
from caps.capabilities.catalogue.declaration import DeclaredCapability, declare, declare_domain
from caps.capabilities.registration import RegisteredCapability, RegisteredDomain
from caps.protocol.argument_checks import require
from caps.protocol.errors import CapsError, RegistrationError
from caps.security.policies.names import domain_of

if TYPE_CHECKING:
    from caps.capabilities.catalogue.injections import ExecutionMode, Injection
    from caps.capabilities.catalogue.result import ResolvedCapabilities

Functions = Mapping[str, RegisteredCapability]
Domains = Mapping[str, RegisteredDomain]


class Catalogue:
    """What was registered; a domain that nobody bundled is added when they are listed."""

    def __init__(self) -> None:
        self._declared: dict[str, DeclaredCapability] = {}
        self._injections: dict[str, Injection] = {}
        self._unavailable: dict[str, str] = {}

    def copy(self) -> Catalogue:
        copied = Catalogue()
        copied._declared = dict(self._declared)
        copied._injections = dict(self._injections)
        copied._unavailable = dict(self._unavailable)
        return copied

    def register(self, capability: Capability | type[Capability]) -> None:
        """Add a capability; a class is instantiated. Raises RegistrationError."""
        declared = self._unused(capability)
        self._declared[declared.key] = declared

    def withhold(self, key: str, reason: str) -> None:
        """Say why an agent that lists `key` is refused. RegistrationError if it is registered."""
        if key in self._declared or key in self._injections:
            raise RegistrationError(f"capability `{key}` is registered already")
        self._unavailable[key] = reason

    def register_injection(
        self, capability: Capability | type[Capability], modes: Iterable[ExecutionMode]
    ) -> None:
        """Add an injection for these modes. Raises RegistrationError."""
        from caps.capabilities.catalogue.injections import declare_injection

        injection = declare_injection(self._unused(capability), modes)
        self._injections[injection.declared.key] = injection

    def _unused(self, capability: object) -> DeclaredCapability:
        if isinstance(capability, type) and issubclass(capability, Capability):
            capability = _made(capability)
        expected = "a `Capability`, or a `CapabilitySpec` with its provider"
        fits = isinstance(capability, Capability)
        require(fits, "capability", capability, expected, RegistrationError)
        assert isinstance(capability, Capability)
        declared = declare(capability)
        if declared.key in self._declared:
            raise RegistrationError(f"capability `{declared.key}` is registered already")
        if declared.key in self._injections:
            raise RegistrationError(f"`{declared.key}` is registered already, as an injection")
        if declared.key in self._unavailable:
            raise RegistrationError(f"capability `{declared.key}` is withheld already")
        return declared

    def known(self, functions: Functions, domains: Domains) -> dict[str, DeclaredCapability]:
        """Every capability by its key, in the order of the keys."""
        injected = {
            function for each in self._injections.values() for function in each.declared.functions
        }
        bundled = {
            function
            for each in self._declared.values()
            if each.status is not CapabilityStatus.COMING_SOON
            for function in each.functions
        }
        found = dict(self._declared)
        for name, domain in domains.items():
            own = sorted(each for each in functions if domain_of(each) == name)
            offered = [each for each in own if each not in injected]
            taken = name in found or name in self._injections
            if not taken and not bundled.issuperset(offered):
                found[name] = declare_domain(domain, (functions[each].spec for each in offered))
        return {key: found[key] for key in sorted(found)}

    def resolve(
        self,
        capabilities: object,
        ctx: ResolverContext,
        mode: ExecutionMode | None,
        functions: Functions,
        domains: Domains,
    ) -> ResolvedCapabilities:
        """What an agent's object amounts to. Raises AgentInvalidError and ProviderError."""
        from caps.capabilities.catalogue.injections import ExecutionMode
        from caps.capabilities.catalogue.resolve import Known, resolve

        require(isinstance(ctx, ResolverContext), "ctx", ctx, "a `ResolverContext`")
        mode = ExecutionMode.INTERACTIVE if mode is None else mode
        require(isinstance(mode, ExecutionMode), "mode", mode, "an `ExecutionMode`")
        known = Known(
            capabilities=self.known(functions, domains),
            injections=[each for each in self._injections.values() if mode in each.modes],
            injected=frozenset(self._injections),
            unavailable=dict(self._unavailable),
            functions=functions,
            domains=domains,
        )
        return resolve(known, capabilities, ctx)


def _made(kind: type[Capability]) -> Capability:
    try:
        return kind()
    except CapsError:
        raise
    except Exception as error:
        raise RegistrationError(
            f"`{kind.__name__}()` failed with `{type(error).__name__}`; register an instance"
        ) from error
