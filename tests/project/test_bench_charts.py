"""The chart of the goals, as a reader sees it: its labels and colours. Needs matplotlib."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason="the charts are in the extra `bench`")

from bench.charts import draw_all, plain_ticks
from bench.figures import Comparison, Samples
from bench.results import Outcome, Run, write
from bench.rows import Effort, Row

MET, MISSED = "#3a8f5c", "#c0453b"


def drawn(directory: Path, effort: Effort, **ours: float) -> str:
    """The chart of a row whose contenders are held against 10; `kept` is enough for `made`."""

    async def measure(*_: object) -> Samples:
        raise AssertionError("it was measured")

    comparisons = tuple(
        Comparison(
            name=name,
            ours=name,
            against="peer",
            goal=0.5,
            alternative_to="made" if name == "kept" else None,
        )
        for name in ours
    )
    values = {"peer": [10.0], **{name: [taken] for name, taken in ours.items()}}
    row = Row(name="row", title="a row", comparisons=comparisons, measure=measure)
    outcome = Outcome(row=row, samples=Samples(values=values), seconds=1.0, effort=effort)
    load = (0.0, 0.0, 0.0)
    run = Run(outcomes=(outcome,), effort=effort, load_at_start=load, load_at_end=load)
    write(directory, run)
    assert draw_all(directory) == ["goals"]
    return (directory / "goals.svg").read_text()


def labels(svg: str) -> list[str]:
    """Text is drawn as outlines; the text itself is next to them in the file."""
    return re.findall(r"<!-- (.*?) -->", svg)


def test_alternatives_are_one_goal(tmp_path: Path) -> None:
    """Met by the better one, with nothing that looks missed."""
    svg = drawn(tmp_path, Effort.FULL, made=9.0, kept=1.0)
    assert "made or kept" in labels(svg)
    assert MET in svg
    assert MISSED not in svg


def test_a_goal_that_is_missed_has_its_colour(tmp_path: Path) -> None:
    """Next to one that is met."""
    svg = drawn(tmp_path, Effort.FULL, slow=9.0, quick=1.0)
    assert MET in svg
    assert MISSED in svg


def test_a_quick_run_has_no_colours_of_verdicts(tmp_path: Path) -> None:
    """It says why."""
    svg = drawn(tmp_path, Effort.QUICK, slow=9.0, quick=1.0)
    assert MET not in svg
    assert MISSED not in svg
    assert any("too few samples for a verdict" in label for label in labels(svg))


def test_what_costs_nothing_is_drawn_all_the_same(tmp_path: Path) -> None:
    """A goal does not leave the chart by being met so well."""
    svg = drawn(tmp_path, Effort.FULL, nothing=0.0, some=4.0)
    assert "nothing" in labels(svg)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.3, 2.5, [0.5, 1, 2]),
        (0.04, 12, [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]),
        (0.002, 12, [0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10]),
        (0.0005, 150, [0.001, 0.01, 0.1, 1, 10, 100]),
    ],
)
def test_ticks_are_round_numbers_and_few(low: float, high: float, ticks: list[float]) -> None:
    """However wide the scale is."""
    assert plain_ticks(low, high) == ticks
