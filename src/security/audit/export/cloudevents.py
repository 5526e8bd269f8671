"""(8) Records as CloudEvents 1.0 in the structured JSON format, with the record itself as the data.

`id` is the hash of the record, which is unique, so that a consumer can drop duplicates. `sequence`
is the CloudEvents extension of that name.
"""

from __future__ import annotations

from typing import Any, Final

from caps.security.audit.model.chain import record_fields
from caps.security.audit.model.records import AuditRecord, kind_of

DEFAULT_SOURCE: Final = "/caps/audit"


def cloud_event(record: AuditRecord, source: str = DEFAULT_SOURCE) -> dict[str, Any]:
    """Return a record as one event; its subject is the execution, if there is one."""
    event: dict[str, Any] = {
        "specversion": "1.0",
        "id": record.hash,
        "source": source,
        "type": f"caps.audit.{kind_of(record.event)}.v{record.v}",
        "time": record.ts,
        "sequence": f"{record.seq:020d}",
        "datacontenttype": "application/json",
        "data": record_fields(record),
    }
    # A subject must not be empty, so it is left out instead.
    if subject := getattr(record.event, "execution_id", ""):
        event["subject"] = subject
    return event
