"""(8) The two records of an allowed call, with everything that is the same for each call as text.

The text is cut out of records that the general encoder made of examples, so that there is one
definition of what a record looks like. What differs from call to call is inserted: the id of the
request, the digests of its arguments, the shown arguments, the size of the result, the duration.
"""

from __future__ import annotations

import functools
import secrets
from typing import Any, Final, NamedTuple

import msgspec

from caps.security.audit.model.chain import EncodedRecord
from caps.security.audit.model.records import CallStatus, DecisionMade, OutcomeRecorded, ShownValue
from caps.security.audit.model.redaction import Redacted
from caps.security.audit.model.sanitize import MAX_INTEGER, encode_event
from caps.security.decision import Decision

DECISION: Final = "decision_made"
_PARTS: Final = (9, 8)
OUTCOME: Final = "outcome_recorded"

# No record of this size is cut or refused, and no string in it is too long.
_MAX_VARIABLE_BYTES: Final = 1024

_MAX_ID_CHARACTERS: Final = 64
# Stands for the id of an execution. Nobody can guess it, so nothing else in a record is equal.
_EXECUTION: Final = f"x{secrets.token_hex(16)}"

_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class RecordTexts(NamedTuple):
    """The texts of one capability in one execution, after the same labels were answered."""

    decision: tuple[str, ...]
    outcome: tuple[str, ...]

    def decision_record(self, request_id: str, redacted: Redacted) -> EncodedRecord | None:
        """The record of the decision; None if a value has to be bounded or escaped first."""
        shown, hidden = redacted.shown, redacted.hidden
        if shown and not all(map(_is_plain, shown.values())):
            return None
        inner = _encode(hidden)
        if not (request_id.isalnum() and request_id.isascii()):
            return None
        outer = _encode(shown) if shown else b"{}"
        if len(inner) > 8 * _MAX_VARIABLE_BYTES or len(outer) > _MAX_VARIABLE_BYTES:
            return None
        if not (inner.isascii() and outer.isascii()):
            return None
        a, b, c, d, e, f, g, h, rest = self.decision
        return (
            f"{a}{redacted.args_hmac}{b}",
            f"{c}{inner.decode()}{d}",
            f"{e}{request_id}{f}",
            f"{g}{outer.decode()}{h}",
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
    if not (execution.isalnum() and execution.isascii() and len(execution) <= _MAX_ID_CHARACTERS):
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
    mark, number = f"m{secrets.token_hex(16)}", secrets.randbelow(10**15) + 10**14
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
    to_hash, to_prev, to_seq, to_ts, rest = encode_event(made)
    first = (
        *to_hash.split(mark),
        *to_prev.split(f'{{"{mark}":""}}'),
        *to_seq.split(mark),
        *to_ts.split(f'{{"{mark}":""}}'),
        rest,
    )
    to_hash, to_prev, to_seq, to_ts, rest = encode_event(ended)
    second = (*to_hash.split(str(number)), to_prev, *to_seq.split(mark), to_ts, rest)
    # Fewer parts if the encoder had to change a mark.
    return RecordTexts(first, second) if (len(first), len(second)) == _PARTS else None
