"""(8) The two records of an allowed call, with everything that is the same for each call as text.

The text is cut out of records that the general encoder made of examples, so that there is one
definition of what a record looks like. What differs from call to call is inserted: the id of the
request, the digests of its arguments, the shown arguments, the size of the result, the duration.
"""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple

import msgspec

from caps.security.audit.model.chain import EncodedRecord
from caps.security.audit.model.records import CallStatus, DecisionMade, OutcomeRecorded, ShownValue
from caps.security.audit.model.redaction import Redacted
from caps.security.audit.model.sanitize import MAX_INTEGER
from caps.security.audit.model.templates import cut_out, is_plain_id, number_mark, text_mark
from caps.security.decision import Decision

DECISION: Final = "decision_made"
OUTCOME: Final = "outcome_recorded"

# No record of this size is cut or refused, and no string in it is too long.
_MAX_VARIABLE_BYTES: Final = 1024

# Stands for the id of an execution.
_EXECUTION: Final = text_mark()

_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class RecordTexts(NamedTuple):
    """The texts of one capability in one execution, after the same labels were answered."""

    decision: tuple[str, ...]
    outcome: tuple[str, ...]

    def decision_of(self, request_id: str, redacted: Redacted) -> EncodedRecord | None:
        """The record of the decision; None if a value has to be bounded or escaped first."""
        shown, hidden, args_hmac = redacted
        inner, outer = _encode(hidden), "{}"
        if not inner.isascii():
            return None
        if shown:
            encoded = _encode(shown)
            if len(encoded) > _MAX_VARIABLE_BYTES or not encoded.isascii():
                return None
            if not all(map(_is_plain, shown.values())):
                return None
            outer = encoded.decode()
        return self.decision_record(request_id, inner.decode(), args_hmac, outer)

    def decision_record(
        self, request_id: str, hidden: str, args_hmac: str, shown: str = "{}"
    ) -> EncodedRecord | None:
        """The same with the arguments as text, in ASCII."""
        if len(hidden) > 8 * _MAX_VARIABLE_BYTES:
            return None
        if not (request_id.isalnum() and request_id.isascii()):
            return None
        a, b, c, d, e, f, g, h, rest = self.decision
        return (
            f"{a}{args_hmac}{b}",
            f"{c}{hidden}{d}",
            f"{e}{request_id}{f}",
            f"{g}{shown}{h}",
            rest,
        )

    def outcome_record(self, request_id: str, bytes_out: int, duration_us: int) -> EncodedRecord:
        """The record of an outcome that is `ok`, of a call whose decision has its record."""
        a, b, c, to_prev, d, e, to_ts, rest = self.outcome
        return (f"{a}{bytes_out}{b}{duration_us}{c}", to_prev, f"{d}{request_id}{e}", to_ts, rest)


def _is_plain(value: ShownValue) -> bool:
    return type(value) is not int or -MAX_INTEGER <= value <= MAX_INTEGER


def texts_for(
    who: dict[str, Any], capability: str, decision: Decision, labels: tuple[str, ...]
) -> RecordTexts | None:
    """The texts for calls that `decision` allows; None if they cannot be cut out.

    They are cut out once for all executions that differ in their id alone, which is filled in.
    """
    execution = who["execution_id"]
    if not is_plain_id(execution):
        return None
    others = tuple((name, value) for name, value in who.items() if name != "execution_id")
    found = _cut_out(others, capability, decision, labels)
    if found is None:
        return None
    return RecordTexts(
        tuple([text.replace(_EXECUTION, execution) for text in found.decision]),
        tuple([text.replace(_EXECUTION, execution) for text in found.outcome]),
    )


@functools.lru_cache(maxsize=256)
def _cut_out(
    others: tuple[tuple[str, Any], ...],
    capability: str,
    decision: Decision,
    labels: tuple[str, ...],
) -> RecordTexts | None:
    """The texts with `_EXECUTION` in place of the id.

    Its result depends on its arguments only, so it is cached.
    """
    who = {"execution_id": _EXECUTION, **dict(others)}
    mark, number = text_mark(), number_mark()
    what: dict[str, Any] = {**who, "request_id": mark, "capability": capability}
    made = DecisionMade(
        **what,
        decision="allow",
        reason=decision.reason.value,
        rule=decision.rule,
        message=decision.message,
        policy_id=decision.policy_id,
        policy_sha256=decision.policy_sha256,
        args_hmac=mark,
        shown={mark: ""},
        hidden={mark: ""},
        labels=list(labels),
    )
    ended = OutcomeRecorded(
        **what, status=CallStatus.OK, duration_us=number, bytes_out=number, labels=[]
    )
    shown = f'{{"{mark}":""}}'
    first = cut_out(made, ((mark,), (shown,), (mark,), (shown,), ()))
    second = cut_out(ended, ((number, number), (), (mark,), (), ()))
    return None if first is None or second is None else RecordTexts(first, second)
