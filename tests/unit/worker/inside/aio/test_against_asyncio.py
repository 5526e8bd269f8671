"""(4) The `asyncio` of user space compared with Python's own: the same programs, the same output.

Both run on a clock that moves only when nothing is left to do, so no program takes any time.
"""

from __future__ import annotations

import pytest

from support.asyncio_comparison import run_in_user_space, run_natively
from support.asyncio_programs import SOURCES


@pytest.mark.parametrize("name", SOURCES)
def test_a_program_prints_what_it_prints_under_asyncio(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line by line, in the same order."""
    expected = run_natively(SOURCES[name], monkeypatch)
    assert expected
    assert run_in_user_space(SOURCES[name], monkeypatch) == expected
