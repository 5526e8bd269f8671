"""Charts of the content of `details.json`, as SVG and PNG. Needs matplotlib, and no display."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

from bench.figures import Unit, Verdict
from bench.interleaving import cut_at_a_word
from bench.results import DETAILS
from bench.scenarios.growth import NEW
from bench.tables import quantity

Rows = dict[str, dict[str, Any]]

_OURS, _OTHERS = "#2f6fb2", "#b8bdc4"
_MET, _MISSED = "#3a8f5c", "#c0453b"
_WORK_COLOURS = {"start": "#2f6fb2", "call": "#d08a1d", "audit": "#3a8f5c"}
_LONGEST_LABEL = 44
_LEAST_SHARE = 0.001  # a log scale has no zero: it is drawn at the left edge
_MOST_TICKS = 9


def draw_all(directory: Path) -> list[str]:
    """Draw every chart that there are figures for, and return the names of the charts."""
    rows: Rows = json.loads((directory / DETAILS).read_text())["rows"]
    rows = {name: row for name, row in rows.items() if "failure" not in row}
    drawn = []
    for name, draw in _CHARTS.items():
        figure = draw(rows)
        if figure is None:
            continue
        for kind in ("svg", "png"):
            figure.savefig(directory / f"{name}.{kind}", dpi=144, bbox_inches="tight")
        drawn.append(name)
    return drawn


def _growth(rows: Rows) -> Figure | None:
    """Start, call and audit as executions and capabilities grow."""
    titles = {
        "growth_executions": "executions before it",
        "growth_capabilities": "capabilities granted",
    }
    here = [name for name in titles if name in rows]
    if not here:
        return None
    figure = Figure(figsize=(6 * len(here), 4.2))
    axes = figure.subplots(1, len(here), squeeze=False)
    for axis, name in zip(axes[0], here, strict=True):
        for kind, points in rows[name]["series"].items():
            sizes, taken = zip(*points, strict=True)
            # The runtime that was just opened shows how the machine itself changed meanwhile.
            line = "--" if kind.endswith(NEW) else "-"
            colour = _WORK_COLOURS[kind.partition(",")[0]]
            axis.plot(sizes, taken, line, marker="o", markersize=4, color=colour, label=kind)
        axis.set(xscale="log", yscale="log", xlabel=titles[name], ylabel="µs, median")
        axis.grid(True, which="major", alpha=0.3)
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "ncols": 3}
        axis.legend(frameon=False, fontsize=8, **below)
    figure.suptitle("cost as work grows")
    return figure


def _goals(rows: Rows) -> Figure | None:
    """How far each goal is met: 1 is the goal, less is better. The best of alternatives counts."""
    groups = [group for row in rows.values() for group in _alternatives(row["comparisons"])]
    if not groups:
        return None
    names = [" or ".join(group) for group in reversed(groups)]
    values = [min(map(_share, group.values())) for group in reversed(groups)]
    colours = [_verdict_colour(group) for group in reversed(groups)]
    figure = Figure(figsize=(8, 0.28 * len(groups) + 1.2))
    axis = figure.subplots()
    axis.scatter(values, names, c=colours)
    axis.hlines(names, 1, values, color=_OTHERS, zorder=0)
    axis.margins(y=0.02)
    axis.axvline(1, color="black", linewidth=1)
    judged = "left of the line it is met"
    if all(colour == _OURS for colour in colours):
        judged = "a quick run: too few samples for a verdict"
    axis.set(xscale="log", xlabel=f"share of the goal that is used; {judged}")
    ticks = plain_ticks(*axis.get_xlim())
    axis.xaxis.set_major_locator(FixedLocator(ticks))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xticklabels([f"{tick:g}" for tick in ticks])
    axis.set_title("goals")
    return figure


def _alternatives(comparisons: Rows) -> list[Rows]:
    """The comparisons that have a goal and a ratio, with alternatives grouped."""
    groups: dict[str, Rows] = {}
    for name, one in comparisons.items():
        if one["goal"] is not None and one["ratio"] is not None:
            groups.setdefault(one["alternative_to"] or name, {})[name] = one
    return list(groups.values())


def _share(one: dict[str, Any]) -> float:
    """The used share of what the goal allows."""
    used = float(one["ratio"] / one["goal"])
    return max(1 / used if one["form"] == "rate" and used else used, _LEAST_SHARE)


def _verdict_colour(group: Rows) -> str:
    verdicts = {one["verdict"] for one in group.values()}
    if Verdict.MET.value in verdicts:
        return _MET
    return _MISSED if Verdict.MISSED.value in verdicts else _OURS


def plain_ticks(low: float, high: float) -> list[float]:
    """Round numbers from `low` to `high`, few enough to be readable on a log scale."""
    tens = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        numbers = [float(f"{step}e{ten}") for ten in tens for step in steps]
        ticks = [number for number in numbers if low <= number <= high]
        if len(ticks) <= _MOST_TICKS:
            break
    return ticks


def _sides(rows: Rows) -> Figure | None:
    """Every contender of the rows about starting and calling, in microseconds."""
    wanted = ("start_seen", "start_new", "start_no_spare", "session_cell", "call", "gather")
    here = [name for name in wanted if name in rows]
    if not here:
        return None
    figure = Figure(figsize=(8, 1.75 * len(here)))
    axes = figure.subplots(len(here), 1, squeeze=False)
    for axis, name in zip(axes[:, 0], here, strict=True):
        sides = rows[name]["contenders"]
        labels = list(reversed(sides))
        colours = [_OURS if label.startswith("caps") else _OTHERS for label in labels]
        medians = [sides[label]["median"] for label in labels]
        axis.scatter(medians, labels, c=colours, s=50)
        for label, taken in zip(labels, medians, strict=True):
            text = quantity(taken, Unit.MICROSECONDS)
            axis.annotate(text, (taken, label), (8, -3), textcoords="offset points", fontsize=7)
        axis.set(xscale="log", xlim=(min(medians) / 2, max(medians) * 4))
        axis.margins(y=0.2)
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.grid(True, axis="x", alpha=0.3)
        axis.set_title(rows[name]["title"], fontsize=9, loc="left")
    axes[-1, 0].set_xlabel("µs, median")
    figure.tight_layout()
    return figure


def _cpu(rows: Rows) -> Figure | None:
    """CPU-bound programs as multiples of plain CPython."""
    programs = [name for name in rows if name.startswith("cpu_")]
    if not programs:
        return None
    everyone = sorted({side for name in programs for side in rows[name]["contenders"]})
    sides = [side for side in everyone if side != "plain CPython"]
    figure = Figure(figsize=(9, 4.2))
    axis = figure.subplots()
    width = 0.8 / len(sides)
    for place, side in enumerate(sides):
        heights = [_of_plain(rows[name], side) for name in programs]
        positions = [n + place * width for n in range(len(programs))]
        colour = _OURS if side == "caps" else None
        axis.bar(positions, heights, width, label=side, color=colour)
    axis.axhline(1, color="black", linewidth=1)
    middles = [n + 0.4 - width / 2 for n in range(len(programs))]
    axis.set_xticks(middles, [name.removeprefix("cpu_") for name in programs], fontsize=8)
    axis.set(yscale="log", ylabel="times plain CPython")
    axis.set_title("CPU-bound user code")
    axis.legend(frameon=False, fontsize=8)
    return figure


def _of_plain(row: dict[str, Any], side: str) -> float:
    sides = row["contenders"]
    if side not in sides or "plain CPython" not in sides:
        return 0.0
    return float(sides[side]["median"] / sides["plain CPython"]["median"])


def _cold(rows: Rows) -> Figure | None:
    """The time that each step of `caps run` takes."""
    parts = rows.get("cold_run", {}).get("parts")
    if not parts:
        return None
    figure = Figure(figsize=(8, 0.4 * len(parts) + 1.2))
    axis = figure.subplots()
    labels = [cut_at_a_word(label, _LONGEST_LABEL) for label in reversed(parts)]
    axis.barh(labels, [taken / 1000 for taken in reversed(parts.values())], color=_OURS)
    axis.set(xlabel="ms, median")
    axis.set_title("`caps run`, cold")
    return figure


_CHARTS: dict[str, Callable[[Rows], Figure | None]] = {
    "goals": _goals,
    "growth": _growth,
    "sides": _sides,
    "cpu": _cpu,
    "cold": _cold,
}
