"""(1) A rule of `deny`: enforced, or in dry run.

`"files.delete"` denies. `{"rule": "files.delete", "mode": "dry_run"}` denies nothing: the audit log
marks the decisions that it would have changed, so that a rule can be watched before it is enforced.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, WithJsonSchema

from caps.protocol.text import nearest
from caps.security.policies.fields import as_tuple
from caps.security.policies.names import RULE_PATTERN, checked_rule, quoted

_KEYS: Final = ("rule", "mode")


class RuleMode(enum.StrEnum):
    """What a rule does when it matches."""

    ENFORCE = "enforce"
    DRY_RUN = "dry_run"


@dataclass(frozen=True, slots=True, order=True)
class DenyRule:
    """A rule and its mode. Written as the rule alone when it is enforced."""

    rule: str
    mode: RuleMode = RuleMode.ENFORCE


def _deny_rule(value: object) -> DenyRule:
    if isinstance(value, DenyRule):
        # Checked as well: a rule whose mode is a plain string would never be enforced.
        return DenyRule(checked_rule(value.rule), _mode(value.mode))
    if isinstance(value, str):
        return DenyRule(checked_rule(value))
    if not isinstance(value, Mapping):
        raise ValueError("should be a string, or an object with `rule` and `mode`")  # noqa: TRY004 - pydantic's protocol
    for key in value:
        if key not in _KEYS:
            meant = nearest(str(key), _KEYS)
            hint = f" (did you mean `{meant}`?)" if meant else ""
            raise ValueError(f"{quoted(str(key))} is not a key of a rule{hint}")
    if not isinstance(value.get("rule"), str):
        raise ValueError("`rule` should be a string")  # noqa: TRY004 - the same
    return DenyRule(checked_rule(value["rule"]), _mode(value.get("mode")))


def _mode(value: object) -> RuleMode:
    if isinstance(value, str) and value in list(RuleMode):
        return RuleMode(value)
    # No default: a misspelt mode must not choose between the two by chance.
    raise ValueError("`mode` should be `enforce` or `dry_run`")


def _normalised(rules: Iterable[DenyRule]) -> tuple[DenyRule, ...]:
    """Sorted and without duplicates. An enforced rule is not listed in dry run as well."""
    distinct = set(rules)
    enforced = {each.rule for each in distinct if each.mode is RuleMode.ENFORCE}
    return tuple(
        sorted(
            each for each in distinct if each.mode is RuleMode.ENFORCE or each.rule not in enforced
        )
    )


def _as_json(rule: DenyRule) -> Any:
    if rule.mode is RuleMode.ENFORCE:
        return rule.rule
    return {"rule": rule.rule, "mode": rule.mode.value}


_RULE_SCHEMA: Final = {"type": "string", "pattern": RULE_PATTERN}
_SCHEMA: Final = {
    "anyOf": [
        _RULE_SCHEMA,
        {
            "type": "object",
            "properties": {
                "rule": _RULE_SCHEMA,
                "mode": {
                    "enum": [mode.value for mode in RuleMode],
                    "description": "`dry_run` denies nothing and records what it would have.",
                },
            },
            "required": ["rule", "mode"],
            "additionalProperties": False,
        },
    ]
}

DenyRules = Annotated[
    tuple[
        Annotated[
            DenyRule,
            BeforeValidator(_deny_rule),
            PlainSerializer(_as_json),
            WithJsonSchema(_SCHEMA),
        ],
        ...,
    ],
    Field(max_length=1024),
    BeforeValidator(as_tuple),
    AfterValidator(_normalised),
]
