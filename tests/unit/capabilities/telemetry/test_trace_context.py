"""`traceparent` is read in the format of W3C, and in no other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caps.capabilities.telemetry.trace_context import parse_traceparent

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GOOD = f"00-{TRACE}-{SPAN}-01"


def test_a_context_is_read_as_a_remote_one() -> None:
    """With its trace, its span and whether it is sampled."""
    context = parse_traceparent(GOOD)
    assert context is not None
    assert (f"{context.trace_id:032x}", f"{context.span_id:016x}") == (TRACE, SPAN)
    assert context.is_remote
    assert context.trace_flags.sampled


@pytest.mark.parametrize(
    "text",
    [
        "",
        GOOD.upper(),
        GOOD + "-00",
        GOOD + "\n",
        " " + GOOD,
        GOOD.replace("00-", "ff-", 1),
        GOOD.replace("00-", "01-", 1),
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}-{SPAN}0-01",
        f"00-{TRACE[:-1]}g-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-+1",
        f"00-{TRACE}-{SPAN}-0\u0661",
        "-".join(["00"] * 100_000),
    ],
)
def test_what_is_not_exactly_one_is_none(text: str) -> None:
    """Neither nearly right nor hostile text names a trace."""
    assert parse_traceparent(text) is None


@given(st.text(max_size=80))
def test_no_text_makes_it_fail(text: str) -> None:
    """The value comes from another program and is not trusted."""
    context = parse_traceparent(text)
    assert context is None or context.is_valid
