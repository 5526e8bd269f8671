"""The records and the counts of two ways to the same, so that they can be compared."""

from __future__ import annotations

from pathlib import Path

import msgspec

from support.audit_examples import segment_of
from support.broker_setup import BrokerSetup


def lines(directory: Path) -> list[bytes]:
    """The lines of the log, without what differs from run to run, in their own bytes."""
    found = []
    for line in segment_of(directory).read_bytes().splitlines():
        record = msgspec.json.decode(line)
        if "execution_id" in record:
            for name in ("ts", "prev", "hash", "duration_us"):
                value = msgspec.json.encode(record.get(name, "absent"))
                line = line.replace(b'"%s":%s' % (name.encode(), value), b"")
            found.append(line)
    return found


def counted(setup: BrokerSetup) -> dict[str, float]:
    """All counts: how often, not how long. An append that must wait is timed by itself."""
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in setup.samples.collect()
        for sample in family.samples
        if sample.name.endswith(("_total", "_count", "_in_flight"))
    }
