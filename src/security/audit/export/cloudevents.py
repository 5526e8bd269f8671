"""(8) Records as CloudEvents 1.0 in their structured JSON form: the record itself is the data.

`id` is the hash of the record, which no other record has, so that a consumer can drop what it got
twice. `sequence` is the CloudEvents extension of that name.
"""

from __future__ import annotations

from typing import Any, Final

from caps.security.audit.model.chain import record_fields
from caps.security.audit.model.records import Record, kind_of

DEFAULT_SOURCE: Final = "/caps/audit"


def cloud_event(record: Record, source: str = DEFAULT_SOURCE) -> dict[str, Any]:
    """One record as one event; its subject is the execution, if it is about one."""
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
    # Required to be non-empty, so it is left out rather than be empty.
    if subject := getattr(record.event, "execution_id", ""):
        event["subject"] = subject
    return event
