"""Strings that a hostile caller may choose as a name, and records that are full of them."""

from __future__ import annotations

import random
from typing import Any, Final

from caps.security.audit import AuditEvent, CallStatus, DecisionMade, OutcomeRecorded
from support.audit_examples import decision

HOSTILE_TEXTS: Final = (
    "\0",
    "a\0b\0",
    "\ud800",
    "tail \udfff",
    "\x01\x1b[2J\x07\x7f\x85\x9b",
    "line\nbreak\r\n\r",
    "\u2028\u2029\u202e\ufeff\ufffe\uffff",
    "x" * 100_000,
    "\u00e9" * 5_000,
    "\U0001f600" * 3_000,
    "\0" * 2_000,
    "e" + "\u0301" * 2_000,
    "'; drop table caps_audit_records; --",
    "%s %(line)s {0} $1 :line \\x00 \\u0000 \\ud800",
    "[" * 5_000,
    "9" * 5_000,
    '"\\"',
    "",
)

_IN_DECISION: Final = (
    *("execution_id", "principal", "agent", "session", "degraded", "trace_id", "request_id"),
    *("capability", "reason", "rule", "message", "nearest", "policy_id", "args_hmac"),
)


def hostile_events() -> list[AuditEvent]:
    """Records with a hostile text in one field, in all fields, and in the names of arguments."""
    found: list[AuditEvent] = []
    for number, text in enumerate(HOSTILE_TEXTS):
        name = f"h{number}"
        found.append(decision(name, capability=text))
        found.append(decision(name, principal=text, agent=text, session=text))
        everywhere: dict[str, Any] = dict.fromkeys(_IN_DECISION, text)
        everywhere |= {"shown": {text: text, "n": 10**5000}, "hidden": {text: text}}
        found.append(decision(name).__class__(**{**_fields(decision(name)), **everywhere}))
        found.append(
            OutcomeRecorded(
                execution_id=text,
                principal=text,
                request_id=name,
                capability=text,
                status=CallStatus.PROVIDER_ERROR,
                detail=text,
                duration_us=2**70,
                bytes_out=-(2**70),
            )
        )
    return found


def random_texts(seed: int, count: int) -> list[str]:
    """Strings of unusual Unicode characters."""
    chance = random.Random(seed)
    corners = (
        0,
        9,
        10,
        31,
        127,
        133,
        160,
        0x2028,
        0xD7FF,
        0xD800,
        0xDFFF,
        0xE000,
        0xFFFF,
        0x10FFFF,
    )
    return [
        "".join(
            chr(chance.choice((chance.choice(corners), chance.randrange(0x110000))))
            for _ in range(chance.randrange(40))
        )
        for _ in range(count)
    ]


def _fields(event: DecisionMade) -> dict[str, Any]:
    return {name: getattr(event, name) for name in event.__struct_fields__}
