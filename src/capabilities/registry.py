"""(2) The registry: what exists. Empty until something is registered.

Registering says what *can* be done; only a policy says what *may* be. `bind` sets a policy against
the registry and refuses one that names what does not exist; `inject` makes the grant of one
execution from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pydantic

from caps.capabilities.bind import Domain, Registered, bind_policy
from caps.capabilities.grant import BoundPolicy, Grant
from caps.capabilities.guarding import kept_away
from caps.capabilities.provider import Provider, Scope
from caps.capabilities.schema import CompiledSchema
from caps.capabilities.signature import derive
from caps.capabilities.spec import CapabilitySpec, DomainName
from caps.protocol.errors import RegistrationError
from caps.protocol.argument_checks import refuse_unless
from caps.security.policies.protected_paths import Guarded
from caps.security.policies.names import quoted
from caps.security.policy import SecurityPolicy
from caps.security.policies.load import LoadedPolicy, PolicySource, load_policy

Function = TypeVar("Function", bound=Callable[..., Any])
_DOMAIN_NAME: pydantic.TypeAdapter[str] = pydantic.TypeAdapter(DomainName)


class CapabilityRegistry:
    """What exists."""

    def __init__(self) -> None:
        self._domains: dict[str, Domain] = {}
        self._capabilities: dict[str, Registered] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._capabilities

    def __len__(self) -> int:
        return len(self._capabilities)

    def __iter__(self) -> Iterator[CapabilitySpec]:
        return (self._capabilities[name].spec for name in sorted(self._capabilities))

    @property
    def domains(self) -> Mapping[str, Domain]:
        return dict(self._domains)

    @property
    def capabilities(self) -> Mapping[str, Registered]:
        return dict(self._capabilities)

    def domain(
        self,
        name: str,
        *,
        scope: type[Scope] | None = None,
        title: str = "",
        description: str = "",
    ) -> None:
        """Declare a domain; a RegistrationError if it is declared already or the name is bad."""
        try:
            _DOMAIN_NAME.validate_python(name, strict=True)
        except pydantic.ValidationError:
            shown = quoted(str(name))
            raise RegistrationError(f"{shown} is no domain name; use [a-z][a-z0-9_]*") from None
        kind: object = scope  # whatever was handed over
        fits = kind is None or (isinstance(kind, type) and issubclass(kind, Scope))
        refuse_unless(fits, "scope", scope, "a class derived from `Scope`", RegistrationError)
        _refuse_unless_texts(title=title, description=description)
        if name in self._domains:
            raise RegistrationError(f"domain `{name}` is declared already")
        self._domains[name] = Domain(name=name, scope=scope, title=title, description=description)

    def register(self, spec: CapabilitySpec, provider: Provider) -> None:
        """Add a capability. Its domain is declared without a scope if nobody declared it.

        Raises RegistrationError if the name is taken, the provider cannot be called, or a schema
        is not usable.
        """
        if spec.name in self._capabilities:
            raise RegistrationError(f"`{spec.name}` is registered already")
        known = spec.schema_in.get("properties", {})
        for name in spec.shown:
            if name not in known:
                raise RegistrationError(
                    f"`{spec.name}` shows `{name}`, which is none of its parameters"
                )
        if not callable(provider):
            raise RegistrationError(f"the provider of `{spec.name}` cannot be called")
        entry = Registered(
            spec=spec,
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
    ) -> Callable[[Function], Function]:
        """Register a typed function as the capability `name`; see `signature`."""
        if not isinstance(name, str):
            raise RegistrationError(
                "a capability needs a name of its own: write "
                '`@registry.capability("domain.function")` above the function'
            )

        _refuse_unless_texts(title=title, description=description)
        fits = isinstance(tags, (set, frozenset, list, tuple))
        refuse_unless(fits, "tags", tags, "a set of texts", RegistrationError)

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
                )
            except pydantic.ValidationError as error:
                first = error.errors()[0]
                place = ".".join(str(part) for part in first["loc"])
                raise RegistrationError(
                    f"capability {quoted(name)}: {place}: {first['msg']}"
                ) from None
            self.register(spec, derived.provider)
            return function

        return register

    def bind(
        self, policy: PolicySource | LoadedPolicy, *, guarded: Sequence[Guarded] = ()
    ) -> BoundPolicy:
        """Set a policy against this registry; a PolicyInvalidError if the two do not fit.

        Or if code could change its own policy by it, or one of the `guarded` places.
        """
        loaded = policy if isinstance(policy, LoadedPolicy) else load_policy(policy)
        bound = bind_policy(loaded, self._domains, self._capabilities)
        return kept_away(bound, (*loaded.guarded, *guarded))

    def inject(
        self,
        namespace: str,
        execution_id: str,
        policy: SecurityPolicy | BoundPolicy | PolicySource,
    ) -> Grant:
        """(3) The grant of one execution: what appears as `<namespace>.<domain>.<function>`.

        Hand over a `BoundPolicy` to pay for the binding once and not for every execution.
        """
        refuse_namespace(namespace)
        bound = policy if isinstance(policy, BoundPolicy) else self.bind(policy)
        if namespace in bound.policy.modules:
            raise RegistrationError(
                f"`{namespace}` cannot be the name of a namespace: the policy grants the module"
            )
        return Grant(execution_id=execution_id, namespace=namespace, bound=bound)

    def terms_of(self, loaded: LoadedPolicy) -> Grant:
        """What a policy says about everything here, for the tools that judge policies.

        Its tests are not run, so it is nothing to run code under. PolicyInvalidError.
        """
        bound = bind_policy(loaded, self._domains, self._capabilities, run_tests=False)
        return Grant(execution_id="review", namespace="caps", bound=bound)

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


def refuse_namespace(name: str) -> None:
    """A RegistrationError if the code could not write `name`, or would take it for private."""
    if not name.isidentifier() or name.startswith("_"):
        raise RegistrationError(f"{quoted(name)} cannot be the name of a namespace")


def _refuse_unless_texts(**given: object) -> None:
    for name, value in given.items():
        refuse_unless(isinstance(value, str), name, value, "a `str`", RegistrationError)


def _closed_object(spec: CapabilitySpec) -> dict[str, Any]:
    """The schema of the payload. It is always an object; an empty schema takes no arguments."""
    if not spec.schema_in:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    return {"type": "object", **spec.schema_in}
