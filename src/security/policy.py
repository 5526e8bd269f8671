"""(1) The policy: what an execution may do, as immutable data.

A policy is JSON (see `policies/policy.schema.json`) and this model is its whole grammar. Only what
it names is allowed: the empty policy denies everything, unknown keys are errors, values are never
converted to fit, and every limit is bounded by default.

A policy never changes after it was validated, and `sha256` identifies its content. Free-form JSON
in it (`scopes`, the payloads of `tests`) is copied during validation, so a later change of the
source dictionary has no effect here. Python cannot prevent code that has the policy from writing
into those inner dictionaries; code that needs a dictionary to change gets a copy from `scope_of`.

This module reads no files: `policies/load.py` does.
"""

from __future__ import annotations

import enum
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

import msgspec
import rfc8785
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    model_validator,
)

from caps.security.policies.deny_rules import DenyRules, RuleMode
from caps.security.policies.fields import as_tuple, sorted_unique, string_schema
from caps.security.policies.flow_rules import FlowRules, Labels, Marks
from caps.security.policies.modules import MAX_MODULES, MODULE_PATTERN, checked_module
from caps.security.policies.names import (
    CAPABILITY_PATTERN,
    NAME_PATTERN,
    RULE_PATTERN,
    checked_capability,
    checked_domain,
    checked_rule,
    domain_of,
    matching_rule,
    quoted,
)
from caps.security.policies.plain_json import plain_json

_DIGEST_DOMAIN = b"caps.policy.v1\0"
_MIB = 1024 * 1024
APPROVAL_MS: Final = 300_000
ARTIFACTS: Final = 32
ARTIFACT_BYTES: Final = 4 * 1024 * 1024
# The unit is that of the operator's tool cards, so no lower value would be safe for everybody.
COST: Final = 1e9
# Each list has a bound, so that checking and reviewing a policy takes a bounded time.
MAX_RULES: Final = 1024
MAX_TESTS: Final = 4096

_PERIODS = {"s": 1, "sec": 1, "min": 60, "hour": 3600, "day": 86400}
_PERIOD_NAMES = {1: "s", 60: "min", 3600: "hour", 86400: "day"}
_RATE_PATTERN = r"^([1-9][0-9]{0,5})/(s|sec|min|hour|day)$"
_RATE = re.compile(_RATE_PATTERN[1:-1])


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` calls in any window of `period_s` seconds."""

    count: int
    period_s: int

    def __post_init__(self) -> None:
        whole = type(self.count) is int and type(self.period_s) is int
        if not whole or self.count < 1 or self.period_s not in _PERIOD_NAMES:
            raise ValueError(f"`{self.count}` in `{self.period_s}` seconds is not a rate")

    def __str__(self) -> str:
        return f"{self.count}/{_PERIOD_NAMES[self.period_s]}"


def _rate(value: object) -> Rate:
    if isinstance(value, Rate):
        return value
    if not isinstance(value, str):
        raise ValueError("should be a rate such as `60/min`")  # noqa: TRY004 - pydantic's protocol
    match = _RATE.fullmatch(value)
    if match is None:
        raise ValueError(
            f"{quoted(value)} is not a rate: a count from 1 to 999999, `/`, and one of "
            "`s`, `sec`, `min`, `hour`, `day`, as in `60/min`"
        )
    return Rate(int(match[1]), _PERIODS[match[2]])


def _version(value: object) -> object:
    # A `Literal[1]` alone would accept `true` and `1.0`.
    if type(value) is not int or value != 1:
        raise ValueError("should be 1, the version of policies that this release reads")
    return value


Rule = Annotated[str, AfterValidator(checked_rule), string_schema(RULE_PATTERN)]
Capability = Annotated[str, AfterValidator(checked_capability), string_schema(CAPABILITY_PATTERN)]
Domain = Annotated[str, AfterValidator(checked_domain), string_schema(f"^{NAME_PATTERN}$")]
RateText = Annotated[
    Rate, BeforeValidator(_rate), PlainSerializer(str), string_schema(_RATE_PATTERN)
]
JsonObject = Annotated[dict[str, Any], BeforeValidator(plain_json)]
Rules = Annotated[
    tuple[Rule, ...],
    Field(max_length=MAX_RULES),
    BeforeValidator(as_tuple),
    AfterValidator(sorted_unique),
]
Module = Annotated[str, AfterValidator(checked_module), string_schema(MODULE_PATTERN)]
Modules = Annotated[
    tuple[Module, ...],
    Field(max_length=MAX_MODULES),
    BeforeValidator(as_tuple),
    AfterValidator(sorted_unique),
]


class _Part(BaseModel):
    # The validator is built with that of the whole policy, not separately before it.
    # Parts that were built without validation are validated with the whole.
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        defer_build=True,
        revalidate_instances="always",
    )


class Limits(_Part):
    """The limits of one execution. A missing limit has a safe default; none is unlimited."""

    wall_ms: int = Field(
        default=30_000, ge=1, le=3_600_000, description="From start to end, in ms."
    )
    cpu_ms: int = Field(default=10_000, ge=1, le=3_600_000, description="Processor time, in ms.")
    memory_mb: int = Field(
        default=256, ge=16, le=65_536, description="Memory of the worker, in MiB."
    )
    calls: int = Field(default=1000, ge=0, le=1_000_000, description="Capability calls in all.")
    concurrency: int = Field(
        default=64, ge=1, le=1024, description="Capability calls in flight at the same time."
    )
    output_bytes: int = Field(
        default=_MIB, ge=0, le=64 * _MIB, description="Captured output, in bytes."
    )
    artifacts: int = Field(
        default=ARTIFACTS, ge=0, le=1024, description="Artifacts that the code hands out."
    )
    artifact_bytes: int = Field(
        default=ARTIFACT_BYTES, ge=0, le=64 * _MIB, description="All of its artifacts, in bytes."
    )
    approval_ms: int = Field(
        default=APPROVAL_MS,
        ge=1,
        le=86_400_000,
        description="Waiting for approvals in all, in ms; `wall_ms` is paused meanwhile.",
    )
    cost: float = Field(
        default=COST,
        ge=0,
        le=COST,
        description="Allowed calls in all, by the cost estimates of their tool cards.",
    )
    rates: dict[Rule, RateText] = Field(
        default={},
        max_length=MAX_RULES,
        description="Calls of each capability per time, as in `60/min`; an exact rule comes first.",
        json_schema_extra={"additionalProperties": False},
    )

    def rate_for(self, capability: str) -> Rate | None:
        """The rate of `capability`. A `domain.*` rate counts each capability separately."""
        rule = matching_rule(self.rates, capability)
        return None if rule is None else self.rates[rule]


class PolicyTest(_Part):
    """A call and the decision that is expected; run before a policy comes into force."""

    call: Capability
    payload: JsonObject = {}
    expect: Literal["allow", "deny", "approve"]
    after: Marks = Field(
        default=(), description="Labels and functions that were answered before, for `flows`."
    )


class RuleEffect(enum.StrEnum):
    """The effect of a policy's rules on a capability, before scopes and limits."""

    ALLOW = "allow"
    DENY = "deny"
    NONE = "none"


class RuleVerdict(msgspec.Struct, frozen=True):
    """The effect of the rules on a capability, and the rule that has this effect.

    `approve` is the rule that requires an approval; `dry_run` is the rule that would deny the
    capability if it were enforced.
    """

    effect: RuleEffect
    rule: str | None
    approve: str | None = None
    dry_run: str | None = None


class SecurityPolicy(_Part):
    """Everything that one execution may do. Deny by default; `deny` beats `allow`."""

    model_config = ConfigDict(serialize_by_alias=True)

    version: Annotated[Literal[1], BeforeValidator(_version)] = 1
    id: str = Field(default="unnamed", min_length=1, max_length=128, pattern=r"^[A-Za-z0-9._-]+$")
    description: str | None = Field(default=None, max_length=1024)
    allow: Rules = Field(default=(), description="`domain.function` or `domain.*`.")
    deny_rules: DenyRules = Field(default=(), alias="deny", description="Beats `allow`.")
    approve: Rules = Field(default=(), description="Allowed only once somebody approved.")
    scopes: dict[Domain, JsonObject] = Field(
        default={},
        max_length=MAX_RULES,
        description="For each domain what its functions may reach; without a scope, nothing.",
        json_schema_extra={"additionalProperties": False},
    )
    labels: dict[Rule, Labels] = Field(
        default={},
        max_length=MAX_RULES,
        description="For each function or `domain.*` the labels of its answers, for `flows`.",
        json_schema_extra={"additionalProperties": False},
    )
    flows: FlowRules = Field(
        default=(), description="What is denied, or needs an approval, after certain answers."
    )
    modules: Modules = Field(
        default=(),
        description="Real modules by name; `a.b` is a part of `a`. The language layer does not "
        "vouch for what code does with them; the kernel layers hold it.",
    )
    limits: Limits = Limits()
    tests: Annotated[
        tuple[PolicyTest, ...], Field(max_length=MAX_TESTS), BeforeValidator(as_tuple)
    ] = ()

    _sha256: str = PrivateAttr("")

    @model_validator(mode="before")
    @classmethod
    def _without_schema(cls, data: Any) -> Any:
        # Editors find the JSON Schema by this key; it has no effect on what is allowed.
        if isinstance(data, Mapping) and isinstance(data.get("$schema"), str):
            return {key: value for key, value in data.items() if key != "$schema"}
        return data

    @model_validator(mode="after")
    def _digest(self) -> Self:
        # Keys that are newer than digests in existing logs are left out while they have their
        # default value, so that those digests stay valid.
        meaning = self.model_dump(mode="json")
        for key in ("modules", "labels", "flows"):
            if not meaning[key]:
                del meaning[key]
        for test in meaning["tests"]:
            if not test["after"]:
                del test["after"]
        for key in ("approval_ms", "artifacts", "artifact_bytes", "cost"):
            if getattr(self.limits, key) == Limits.model_fields[key].default:
                del meaning["limits"][key]
        canonical = rfc8785.dumps(meaning)
        self._sha256 = hashlib.sha256(_DIGEST_DOMAIN + canonical).hexdigest()
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:  # noqa: ARG002 - a copy is always deep
        """A policy with `update` applied, validated again and with a new digest."""
        return type(self).model_validate({**self.model_dump(), **(update or {})})

    @property
    def sha256(self) -> str:
        """The digest of the policy: of its RFC 8785 form with every default filled in."""
        return self._sha256

    @property
    def deny(self) -> tuple[str, ...]:
        """The `deny` rules that are in force."""
        return tuple(each.rule for each in self.deny_rules if each.mode is RuleMode.ENFORCE)

    @property
    def dry_run(self) -> tuple[str, ...]:
        """The `deny` rules in dry run: recorded, not enforced."""
        return tuple(each.rule for each in self.deny_rules if each.mode is RuleMode.DRY_RUN)

    def labels_of(self, capability: str) -> frozenset[str]:
        """The labels that the policy gives every answer of `capability`."""
        rules = (capability, f"{domain_of(capability)}.*")
        return frozenset(label for rule in rules for label in self.labels.get(rule, ()))

    def scope_of(self, domain: str) -> dict[str, Any] | None:
        """A copy of `scopes.<domain>`; None if the policy gives the domain none."""
        scope = self.scopes.get(domain)
        return None if scope is None else dict(plain_json(scope))

    def verdict(self, capability: str) -> RuleVerdict:
        """The effect of the rules on `capability`; an exact rule comes before `domain.*`."""
        denied = matching_rule(self.deny, capability)
        if denied is not None:
            return RuleVerdict(RuleEffect.DENY, denied)
        allowed = matching_rule(self.allow, capability)
        if allowed is None:
            return RuleVerdict(RuleEffect.NONE, None)
        return RuleVerdict(
            RuleEffect.ALLOW,
            allowed,
            approve=matching_rule(self.approve, capability),
            dry_run=matching_rule(self.dry_run, capability),
        )
