"""The trace context as text: W3C `traceparent`, version 00, read strictly.

It goes to a worker with its code and comes back with each request. What comes back is the word of
a worker, so it is only ever compared with what was handed out: no worker can choose the trace, or
the span, that the host's own spans belong to.
"""

from __future__ import annotations

from typing import Final

from opentelemetry.trace import SpanContext, TraceFlags

_PART_LENGTHS: Final = (2, 32, 16, 2)
_HEX: Final = frozenset("0123456789abcdef")


def format_traceparent(context: SpanContext) -> str | None:
    """`context` as it crosses the channel; None if it belongs to no trace."""
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def parse_traceparent(text: str) -> SpanContext | None:
    """The context that `text` spells, as a remote one; None if it spells none exactly."""
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
