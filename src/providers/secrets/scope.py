"""The scope of the `secrets` domain: which names, and the hosts that each may be sent to.

    "secrets": {"github": {"hosts": ["api.github.com"]}}

The keys are names of secrets. Whoever fills a handle in checks the hosts: those that are kept with
it, and those of the policies in force then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from caps.capabilities.provider import Scope, Violation
from caps.capabilities.secrets.sources import checked_name
from caps.protocol.text import printable
from caps.security.hosts import EVERY_HOST, HostPatterns, is_covered
from caps.security.scopes import argument_of

MAX_SECRETS = 64


class SecretRule(BaseModel):
    """What a policy says of one secret."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    hosts: HostPatterns


class SecretsScope(Scope):
    """`scopes.secrets` of a policy: its keys are the names of secrets."""

    model_config = ConfigDict(
        frozen=True, extra="allow", strict=True, defer_build=True, hide_input_in_errors=True
    )
    __pydantic_extra__: dict[str, SecretRule] = Field(init=False)

    @model_validator(mode="after")
    def _name_secrets(self) -> Self:
        rules = self.rules
        if not 0 < len(rules) <= MAX_SECRETS:
            raise ValueError(f"name 1 to {MAX_SECRETS} secrets")
        for name, rule in rules.items():
            checked_name(name)
            if EVERY_HOST in rule.hosts:
                raise ValueError(f"the secret `{name}` needs the hosts that it may be sent to")
        return self

    @property
    def rules(self) -> dict[str, SecretRule]:
        return self.__pydantic_extra__

    def violation(self, function: str, payload: Mapping[str, Any]) -> Violation | None:
        if function != "handle":
            return Violation("names", f"the secrets scope knows no function `{function}`")
        name = argument_of(payload, "name")
        if not isinstance(name, str) or name not in self.rules:
            shown = printable(name) if isinstance(name, str) else "it"
            return Violation("names", f"the policy names no secret `{shown}`")
        # Not of the function: who fills a handle in asks about the host, too.
        host = payload.get("host")
        if isinstance(host, str) and not is_covered(host, self.rules[name].hosts):
            return Violation(name, f"the secret `{name}` may not be sent to `{printable(host)}`")
        return None

    def fields_of(self, function: str) -> Mapping[str, frozenset[str]] | None:  # noqa: ARG002
        return {name: frozenset({"name"}) for name in self.rules}
