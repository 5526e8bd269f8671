"""One execution abuses the host: what it costs in memory, and that it is given back.

The short form of `bench/abuse.py`, which has more cases and measures how long others wait.
"""

from __future__ import annotations

import pytest

from bench.abuse import MAX_GROWTH_MB, measure


@pytest.mark.process
@pytest.mark.parametrize("case", ["answers", "inline_answers", "list", "mixed", "read"])
def test_one_execution_makes_the_host_grow_by_little(case: str) -> None:
    """Results of sixty-four concurrent calls, of which each is large; a third of the bound is spare
    for what the C library keeps. Mixed, they come with output, large payloads and keys."""
    figures = measure(case, abusers=1, rounds=1)
    assert set(figures.ended) <= {"ok", "limit"}
    assert figures.calls > 0  # an honest session was answered meanwhile
    assert figures.peak_mb < 1.33 * MAX_GROWTH_MB
    assert figures.left_mb < MAX_GROWTH_MB / 1.33
