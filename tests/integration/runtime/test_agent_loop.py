"""The example of a whole agent loop runs, and ends as its docstring says."""

from __future__ import annotations

import importlib.util
from decimal import Decimal
from pathlib import Path

import pytest

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).parents[3] / "examples" / "agent_loop.py"


async def test_the_loop_repairs_its_code(capsys: pytest.CaptureFixture[str]) -> None:
    """A call that is certain to fail, an error at run time, and then the solution."""
    spec = importlib.util.spec_from_file_location("agent_loop", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert await module.main() == Decimal("19.75")
    told = capsys.readouterr().out
    for part in (
        "did you mean `name`?",
        "no line of the code ran",
        "ProviderError: NoSuchCustomer: no customer `eve`; there are ada, bob",
        "left out: NoSuchCustomer eve",
        "credits.csv (text/csv, 18 bytes)",
        r"=> credits.csv: 'ada,12.50\nbob,7.25'",
    ):
        assert part in told


def test_the_example_is_short() -> None:
    """A developer reads it before writing a loop of their own."""
    assert len(EXAMPLE.read_text().splitlines()) < 80
