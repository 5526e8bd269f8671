"""(8) The audit log: evidence of every decision before its effect, and of every outcome after it.

records.py      what can be said            bounds.py      ... so that it can always be written
redaction.py    digests instead of values   chain.py       records as bytes with hashes
segment.py      the file, blocking          log.py         group commit; the sinks
keyfiles.py     the keys of a directory     checkpoint.py  signed heads
reader.py       reading it back             verify.py      is it what was written?
findings.py     what that can say           walk.py        ... along the chain
filters.py      which records               follow.py      those that are still to come
stats.py        what they come to           proof.py       evidence that needs no log
proving.py      making it                   ocsf.py, cloudevents.py   for other systems
tail.py         how a file ends             lock.py        one writer at a time
rotation.py     when a file ends            pinning.py     checkpoints, here and elsewhere
key_rotation.py another key                 trust.py       ... and why to believe it
writer.py       commits and offers          upkeep.py      what is done by the clock
settings.py     all that can be chosen      sinks/         further places for the evidence
opening.py      how it begins               batch.py       what is committed together
spelling.py     a record as text            waking.py      tasks that wait for a thread
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from caps.security.audit.log.log import AuditLog
from caps.security.audit.log.memory import MemoryAuditLog
from caps.security.audit.files.reader import read_records
from caps.security.audit.model.records import (
    ApprovalOutcome,
    ApprovalRequested,
    ApprovalSettled,
    AuditEvent,
    CallStatus,
    DecisionMade,
    ExecutionEnded,
    ExecutionStarted,
    ExecutionStatus,
    GrantRevoked,
    KeyRotated,
    LimitReached,
    LogOpened,
    LogRecovered,
    OutcomeRecorded,
    PolicyLoaded,
    ProtocolViolated,
    Record,
    SegmentClosed,
    SegmentOpened,
    SinkFailed,
    SinkRecovered,
    Withheld,
)
from caps.security.audit.model.redaction import Redacted, Redactor
from caps.security.audit.log.rotation import Rotation
from caps.security.audit.log.segment import Durability
from caps.security.audit.log.settings import AuditSettings, default_audit_directory
from caps.security.audit.log.interface import AuditSink

if TYPE_CHECKING:
    from caps.security.audit.verify.verify import VerifyReport, VerifyStatus, verify_log

__all__ = [
    "ApprovalOutcome",
    "ApprovalRequested",
    "ApprovalSettled",
    "AuditEvent",
    "AuditLog",
    "AuditSettings",
    "AuditSink",
    "CallStatus",
    "DecisionMade",
    "Durability",
    "ExecutionEnded",
    "ExecutionStarted",
    "ExecutionStatus",
    "GrantRevoked",
    "KeyRotated",
    "LimitReached",
    "LogOpened",
    "LogRecovered",
    "MemoryAuditLog",
    "OutcomeRecorded",
    "PolicyLoaded",
    "ProtocolViolated",
    "Record",
    "Redacted",
    "Redactor",
    "Rotation",
    "SegmentClosed",
    "SegmentOpened",
    "SinkFailed",
    "SinkRecovered",
    "VerifyReport",
    "VerifyStatus",
    "Withheld",
    "default_audit_directory",
    "read_records",
    "verify_log",
]


def __getattr__(name: str) -> Any:
    """What verifies is loaded when it is asked for: whoever writes a log needs none of it."""
    if name not in __all__:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from caps.security.audit.verify.verify import verify

    return getattr(verify, name)
