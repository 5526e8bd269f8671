"""(2) The specification of a capability: a name, two schemas, and what other parts need to know."""

from __future__ import annotations

import keyword
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StringConstraints,
    field_validator,
)

from caps.security.policies.flow_rules import Labels

_PART = r"[a-z][a-z0-9_]{0,63}"

DomainName = Annotated[str, StringConstraints(pattern=rf"^{_PART}$")]
FullName = Annotated[str, StringConstraints(pattern=rf"^{_PART}\.{_PART}$")]

# `caps.files.read.options(...)` sets the options of a call; a capability must not have that name.
RESERVED_FUNCTIONS = frozenset({"options"})


class CapabilitySpec(BaseModel):
    """One capability. Its schemas are JSON Schema (2020-12) and refer only to themselves."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: FullName
    schema_in: dict[str, Any] = Field(default_factory=dict)
    schema_out: dict[str, Any] = Field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    title: str = ""
    description: str = ""
    shown: tuple[str, ...] = ()
    """Payload fields that the audit log may show in clear; all others are redacted."""
    idempotent: StrictBool = False
    """Calling it twice has the effect of calling it once; callers may retry."""
    labels: Labels = ()
    """What every answer may hold, for the flow rules of a policy: `private`, `untrusted`, ..."""
    egress: StrictBool = False
    """Arguments leave: somebody outside can read them. The word `egress` of flow rules means it."""
    timeout_ms: Annotated[int, Field(strict=True, ge=1, le=3_600_000)] | None = None
    raises: tuple[str, ...] = ()
    """The names of errors whose text code may see, in the detail `error` of a ProviderError."""
    streams: StrictBool = False
    """It gives any number of items, of `schema_out`: its provider is an async generator function.
    """
    inline: StrictBool | None = None
    """Call the provider in a step of the event loop: without a task, a thread or a deadline.

    Only a coroutine function without an `await` can be called so. The default, None, becomes True
    for such a provider when it is registered, and False for any other.
    """

    @field_validator("name")
    @classmethod
    def _not_reserved(cls, name: str) -> str:
        domain, _, function = name.partition(".")
        if function in RESERVED_FUNCTIONS:
            raise ValueError(f"`{name}` is a reserved name")
        if keyword.iskeyword(domain) or keyword.iskeyword(function):
            raise ValueError(f"`{name}` holds a keyword of python, so no code could call it")
        return name

    @property
    def domain(self) -> str:
        return self.name.partition(".")[0]

    @property
    def function(self) -> str:
        return self.name.partition(".")[2]
