"""(1) Labels and flow rules: what has been read decides what may be sent.

A label is a word for what an answer may hold: `private`, `untrusted`, or a word of the operator's.
A flow rule says which functions are denied, or need an approval, after certain answers:

    {"id": "no-exfiltration", "after": ["private", "untrusted"], "deny": ["egress"]}

The rule applies once everything in `after` (labels, functions, `domain.*`) was answered to the
channel. `egress` stands for every function whose specification says so.

What a channel was answered is a set of *marks*: the labels of each answer, the name of its function
and `domain.*` of that. A label has no dot, so the kinds cannot be confused, and whether a rule
applies is one comparison of sets.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Annotated, Final, Protocol, Self

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from caps.protocol.text import nearest
from caps.security.policies.fields import as_tuple, sorted_unique, string_schema
from caps.security.policies.names import (
    NAME_PATTERN,
    checked_rule,
    domain_of,
    matching_rule,
    quoted,
)

EGRESS: Final = "egress"
# Known without a declaration: `lint` and the built-in providers use them.
PRIVATE: Final = "private"
UNTRUSTED: Final = "untrusted"
COMMON_LABELS: Final = frozenset({PRIVATE, UNTRUSTED})
MAX_FLOWS: Final = 256
MAX_LABELS: Final = 32
LABEL_LENGTH: Final = 32
NO_MARKS: Final = frozenset[str]()

_LABEL: Final = rf"[a-z][a-z0-9_-]{{0,{LABEL_LENGTH - 1}}}"
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyz")
_REST = _FIRST | frozenset("0123456789_-")
_SHAPE = f"lowercase letters, digits, `_` and `-`, at most {LABEL_LENGTH} of them"


def checked_label(text: str) -> str:
    """Return `text` if it is a label; else raise ValueError."""
    if text == EGRESS:
        raise ValueError("`egress` is not a label: it stands for functions in `deny` or `approve`")
    if 0 < len(text) <= LABEL_LENGTH and text[0] in _FIRST and _REST.issuperset(text):
        return text
    raise ValueError(f"{quoted(text)} is not a label: {_SHAPE}")


def checked_mark(text: str) -> str:
    """Return `text` if it is a label or a rule that names functions; else raise ValueError."""
    return checked_rule(text) if "." in text else checked_label(text)


def _checked_target(text: str) -> str:
    if text == EGRESS:
        return text
    if "." not in text and nearest(text, (EGRESS,)):
        raise ValueError(f"{quoted(text)} is neither a rule nor `egress`; did you mean `egress`?")
    return checked_rule(text)


_FUNCTIONS: Final = rf"{NAME_PATTERN}\.({NAME_PATTERN}|\*)"

Label = Annotated[str, AfterValidator(checked_label), string_schema(f"^({_LABEL})$")]
Labels = Annotated[
    tuple[Label, ...],
    Field(max_length=MAX_LABELS),
    BeforeValidator(as_tuple),
    AfterValidator(sorted_unique),
]
Mark = Annotated[str, AfterValidator(checked_mark), string_schema(f"^({_LABEL}|{_FUNCTIONS})$")]
Marks = Annotated[tuple[Mark, ...], Field(max_length=MAX_LABELS), BeforeValidator(as_tuple)]
Target = Annotated[
    str, AfterValidator(_checked_target), string_schema(f"^({EGRESS}|{_FUNCTIONS})$")
]
# In the order in which they are written, so that an error can name the place.
Targets = Annotated[tuple[Target, ...], Field(max_length=1024), BeforeValidator(as_tuple)]


class FlowRule(BaseModel):
    """One rule of `flows`: after these answers, these functions are denied or need an approval."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        defer_build=True,
        revalidate_instances="always",
        json_schema_extra={"oneOf": [{"required": ["deny"]}, {"required": ["approve"]}]},
    )

    id: str = Field(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9._-]+$")
    after: Marks = Field(
        min_length=1, description="Labels, functions or `domain.*`; all must have been answered."
    )
    deny: Targets = Field(default=(), description="`domain.function`, `domain.*` or `egress`.")
    approve: Targets = Field(default=(), description="The same, allowed once somebody approved.")

    @model_validator(mode="after")
    def _one_effect(self) -> Self:
        if bool(self.deny) is bool(self.approve):
            raise ValueError("needs either `deny` or `approve`, with at least one entry")
        return self

    @property
    def targets(self) -> tuple[str, ...]:
        return self.deny or self.approve

    def covers(self, capability: str, *, egress: bool) -> bool:
        """Whether `capability` is one of its functions; `egress`: its specification says so."""
        by_egress = egress and EGRESS in self.targets
        return by_egress or matching_rule(self.targets, capability) is not None


def _distinct(rules: tuple[FlowRule, ...]) -> tuple[FlowRule, ...]:
    places: dict[str, int] = {}
    for index, rule in enumerate(rules):
        if rule.id in places:
            raise ValueError(
                f"the id `{rule.id}` is used twice, by flows[{places[rule.id]}] and flows[{index}]"
            )
        places[rule.id] = index
    return rules


FlowRules = Annotated[
    tuple[FlowRule, ...],
    Field(max_length=MAX_FLOWS),
    BeforeValidator(as_tuple),
    AfterValidator(_distinct),
]


class BoundFlow(msgspec.Struct, frozen=True):
    """A flow rule as it applies to one capability: after all of `after`, ask or deny."""

    id: str
    after: frozenset[str]
    asks: bool

    @property
    def rule(self) -> str:
        """Its name in decisions."""
        return f"flows.{self.id}"


class LabelledTerms(Protocol):
    """A capability under a policy, as far as its labels go."""

    @property
    def labels(self) -> frozenset[str]:
        """What every answer of it is labelled with."""


@functools.lru_cache(maxsize=1024)
def marks_of(capability: str) -> frozenset[str]:
    """The marks of any answer of `capability`: its name and `domain.*`."""
    return frozenset({capability, f"{domain_of(capability)}.*"})


@functools.lru_cache(maxsize=1024)
def labels_in(marks: frozenset[str]) -> tuple[str, ...]:
    """The labels among `marks`, sorted: those without a dot."""
    return tuple(sorted(mark for mark in marks if "." not in mark))


def marks_after(terms: Mapping[str, LabelledTerms], answered: Iterable[str]) -> frozenset[str]:
    """The marks of a channel that was answered this: labels, and functions with their labels."""
    marks: set[str] = set()
    for mark in answered:
        marks.add(mark)
        if mark in terms:
            marks |= marks_of(mark) | terms[mark].labels
    return frozenset(marks)


def given_labels(found: object) -> frozenset[str]:
    """`found`, if it is a set of labels; ValueError for anything else that a scope returned."""
    if found is NO_MARKS:
        return NO_MARKS
    if not isinstance(found, frozenset):
        raise ValueError("labels should be a `frozenset`")  # noqa: TRY004 - one error for callers
    return frozenset(checked_label(label) for label in found)
