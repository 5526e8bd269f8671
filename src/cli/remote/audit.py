"""`caps audit` on a service: its records, as the commands here print them, and its verification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from caps.cli.remote.server import Server, remote_client

if TYPE_CHECKING:
    from caps.client.values import AuditReport
    from caps.security.audit import AuditRecord


def remote_records(server: Server, given: Mapping[str, Any]) -> Iterator[AuditRecord]:
    """The records that match the filters, oldest first. Raises ClientError and AuditError."""
    import msgspec

    from caps.security.audit.model.chain import decode

    with remote_client(server) as client:
        for each in client.audit_records(**given):
            yield decode(msgspec.json.encode(each))


def verify_remotely(server: Server) -> AuditReport:
    """Raises ClientError."""
    with remote_client(server) as client:
        return client.verify_audit()
