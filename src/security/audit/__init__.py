"""(8) The audit log: evidence of every decision before its effect, and of every outcome after it.

model/    events, records, the hash chain     files/    reading, locking and key files
log/      writing: batches, segments          signing/  checkpoints and key rotation
sinks/    further places for the records      verify/   verification and proofs
query/    filters, statistics, following      export/   formats of other systems
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from caps.security.audit.files.reader import read_records
from caps.security.audit.log.interface import AuditSink, UndeliveredError
from caps.security.audit.log.log import AuditLog
from caps.security.audit.log.memory import MemoryAuditLog
from caps.security.audit.log.rotation import Rotation
from caps.security.audit.log.settings import AuditSettings, Durability, default_audit_directory
from caps.security.audit.model.records import (
    AdminAction,
    ApprovalOutcome,
    ApprovalRequested,
    ApprovalSettled,
    ArtifactRecord,
    AuditEvent,
    AuditRecord,
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
    SegmentClosed,
    SegmentOpened,
    SinkFailed,
    SinkRecovered,
    Withheld,
)
from caps.security.audit.model.redaction import Redacted, Redactor

if TYPE_CHECKING:
    from caps.security.audit.verify.verify import VerifyReport, VerifyStatus, verify_log

__all__ = [
    "AdminAction",
    "ApprovalOutcome",
    "ApprovalRequested",
    "ApprovalSettled",
    "ArtifactRecord",
    "AuditEvent",
    "AuditLog",
    "AuditRecord",
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
    "Redacted",
    "Redactor",
    "Rotation",
    "SegmentClosed",
    "SegmentOpened",
    "SinkFailed",
    "SinkRecovered",
    "UndeliveredError",
    "VerifyReport",
    "VerifyStatus",
    "Withheld",
    "default_audit_directory",
    "read_records",
    "verify_log",
]


def __getattr__(name: str) -> Any:
    """Import the verification on first use: a writer of a log does not need it."""
    if name not in __all__:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    from caps.security.audit.verify import verify

    return getattr(verify, name)
