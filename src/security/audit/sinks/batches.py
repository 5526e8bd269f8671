"""(8) The order and the size of what a sink gets in one operation. No IO."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from caps.security.audit.sinks.interface import Delivery

_BATCH: Final = 256
# A batch ends with the record that reaches this, so that a few long ones are not late or refused.
_BATCH_BYTES: Final = 1024 * 1024


def in_order(items: Iterable[Delivery]) -> list[Delivery]:
    """Sort items, each once: a checkpoint directly after its record.

    So a copy never has a checkpoint without its record, or a record that mentions a checkpoint
    (`signed_seq`) without that.
    """
    return sorted(dict.fromkeys(items), key=lambda item: (item.seq, item.checkpoint))


def batches(items: Iterable[Delivery]) -> Iterator[list[Delivery]]:
    """Split items into batches that a sink takes in one operation."""
    source = iter(items)
    while batch := take_batch(source):
        yield batch


def take_batch(source: Iterator[Delivery]) -> list[Delivery]:
    """Take the next items, bounded by their number and their size."""
    batch: list[Delivery] = []
    size = 0
    while len(batch) < _BATCH and size < _BATCH_BYTES and (item := next(source, None)):
        batch.append(item)
        size += len(item.line)
    return batch
