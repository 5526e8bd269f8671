"""What a runtime rests on and no scope may change: its policy file, approvals and audit log."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from caps.capabilities.broker.approvals import DirectoryApprover
from caps.security.approvals.model import Approver
from caps.security.approvals.directory import default_approvals_directory
from caps.security.audit.log.log import AuditLog
from caps.security.audit.log.settings import AuditSettings
from caps.security.audit.log.interface import AuditSink
from caps.security.policies.protected_paths import POLICY_FILE, Guarded

_APPROVALS: Final = "the approvals directory"
_AUDIT: Final = "the audit directory"


def guarded_by(audit: AuditSink, approver: Approver, policy: Path | None) -> tuple[Guarded, ...]:
    """What a runtime with these parts rests on; `policy` is the file that it is opened with."""
    found = [] if policy is None else [Guarded(POLICY_FILE, policy)]
    if isinstance(approver, DirectoryApprover):
        found.append(Guarded(_APPROVALS, approver.directory))
    if isinstance(audit, AuditLog):
        found += [Guarded(_AUDIT, place) for place in audit.places]
    return tuple(found)


def guarded_by_default() -> tuple[Guarded, ...]:
    """What a runtime would rest on here, by the environment. Raises ConfigurationError."""
    places = AuditSettings.from_environment().places
    return (
        Guarded(_APPROVALS, default_approvals_directory()),
        *(Guarded(_AUDIT, place) for place in places),
    )
