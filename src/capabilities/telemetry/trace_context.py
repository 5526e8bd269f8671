"""A parser for W3C `traceparent`, version 00.

It is strict: text that does not have exactly that form names no trace.
"""

from __future__ import annotations

from typing import Final

from opentelemetry.trace import SpanContext, TraceFlags

_PART_LENGTHS: Final = (2, 32, 16, 2)
_HEX: Final = frozenset("0123456789abcdef")


def parse_traceparent(text: str) -> SpanContext | None:
    """The remote context in `text`; None if `text` is malformed."""
    parts = text.split("-", len(_PART_LENGTHS))
    if tuple(map(len, parts)) != _PART_LENGTHS or not all(_HEX.issuperset(part) for part in parts):
        return None
    version, trace_id, span_id, flags = parts
    if version != "00":
        return None
    context = SpanContext(
        trace_id=int(trace_id, 16),
        span_id=int(span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(int(flags, 16)),
    )
    return context if context.is_valid else None
