"""The benchmark's arithmetic and what it does about peers that are not here."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from rich.console import Console

from bench import peers, run, tables
from bench.audit_rate import RECORD_BYTES, decision, plain_line
from bench.catalogue import ROWS, chosen
from bench.figures import (
    Comparison,
    Form,
    Goal,
    Samples,
    Unit,
    Verdict,
    goals,
    judge,
    judge_all,
    median,
    p95,
)
from bench.interleaving import Contender, Rounds, Turn, cut_at_a_word, take_turns
from bench.peers import EVERYONE, Peer, installing
from bench.results import Outcome, Run, details, latest, prepare
from bench.rows import Effort, Row
from bench.scenarios.cold import imports_by_package
from bench.scenarios.cpu import best_of
from caps import AuditLog

pytestmark = pytest.mark.anyio

NOBODY = Peer("nobody", "no_such_module_anywhere", "bench-nobody")


def samples(**values: list[float]) -> Samples:
    return Samples(values=values)


def outcome(
    comparisons: Comparison | tuple[Comparison, ...],
    found: Samples,
    unit: Unit = Unit.MICROSECONDS,
    effort: Effort = Effort.FULL,
) -> Outcome:
    async def measure(*_: object) -> Samples:
        return found

    all_of_it = comparisons if isinstance(comparisons, tuple) else (comparisons,)
    row = Row(name="row", title="a row", comparisons=all_of_it, measure=measure, unit=unit)
    return Outcome(row=row, samples=found, seconds=1.0, effort=effort)


def run_of(*outcomes: Outcome, effort: Effort = Effort.FULL) -> Run:
    return Run(
        outcomes=outcomes,
        effort=effort,
        load_at_start=(0.5, 0.4, 0.3),
        load_at_end=(1.25, 0.9, 0.6),
    )


def printed(show: Callable[[Console], None]) -> str:
    """What a person reads, without markup."""
    console = Console(width=120, record=True, file=io.StringIO(), highlight=False)
    show(console)
    return console.export_text()


EITHER = (
    Comparison(name="made", ours="made", against="peer", goal=0.5),
    Comparison(name="kept", ours="kept", against="peer", goal=0.5, alternative_to="made"),
)


def broken(name: str, error: Exception, peer: Peer | None = None) -> Contender:
    """One that raises when it is opened."""

    def fail() -> float:
        raise error

    @asynccontextmanager
    async def opened() -> AsyncIterator[Turn]:
        taken = fail()

        async def turn() -> float:
            return taken

        yield turn

    return Contender(name, opened, peer)


class TestFigures:
    def test_a_median_is_the_middle_or_between_the_two_in_the_middle(self) -> None:
        """Outliers do not move it."""
        assert median([3, 1, 1000]) == 3
        assert median([4, 1, 2, 1000]) == 3

    def test_p95_is_a_sample_that_95_in_100_do_not_exceed(self) -> None:
        """Of a hundred it is the 95th; of few it is the largest."""
        assert p95([float(n) for n in range(100, 0, -1)]) == 95
        assert p95([5.0, 7.0]) == 7.0

    def test_there_are_no_figures_of_nothing(self) -> None:
        """An empty list is a mistake, not a zero."""
        with pytest.raises(ValueError, match="nothing"):
            median([])
        with pytest.raises(ValueError, match="nothing"):
            p95([])

    @pytest.mark.parametrize(
        ("goal", "verdict"), [(0.5, Verdict.MET), (0.49, Verdict.MISSED), (None, Verdict.SHOWN)]
    )
    def test_a_ratio_of_times_is_ours_over_theirs_and_at_most_the_goal(
        self, goal: float | None, verdict: Verdict
    ) -> None:
        """Half of their time is 0.5."""
        comparison = Comparison(name="a", against="peer", goal=goal)
        found = judge(comparison, samples(caps=[10, 10, 10], peer=[20, 20, 20]))
        assert (found.ratio, found.verdict) == (0.5, verdict)

    @pytest.mark.parametrize(("goal", "verdict"), [(2.0, Verdict.MET), (2.1, Verdict.MISSED)])
    def test_a_ratio_of_rates_is_theirs_over_ours_and_at_least_the_goal(
        self, goal: float, verdict: Verdict
    ) -> None:
        """Half of their time is twice as many in a second."""
        comparison = Comparison(name="a", against="peer", goal=goal, form=Form.RATE)
        found = judge(comparison, samples(caps=[10], peer=[20]))
        assert (found.ratio, found.verdict) == (2.0, verdict)

    def test_a_figure_of_the_goals_stands_in_for_a_peer(self) -> None:
        """4 µs where 3 are allowed is 1.33 of the goal."""
        comparison = Comparison(name="a", against="3 µs", figure=3.0, goal=1.0)
        found = judge(comparison, samples(caps=[4.0]))
        assert found.verdict is Verdict.MISSED
        assert found.ratio == pytest.approx(4 / 3)

    def test_whoever_is_missing_makes_it_skipped_with_the_reason(self) -> None:
        """Neither met nor missed, and our own median is kept."""
        found = judge(
            Comparison(name="a", against="peer", goal=1.0),
            Samples(values={"caps": [5.0]}, skipped={"peer": "it is not installed"}),
        )
        assert (found.verdict, found.ratio, found.median, found.reason) == (
            Verdict.SKIPPED,
            None,
            5.0,
            "it is not installed",
        )

    def test_a_side_that_nobody_measured_is_skipped_as_well(self) -> None:
        """A misspelt contender cannot pass for a result."""
        comparison = Comparison(name="a", against="pere", goal=1.0)
        found = judge(comparison, samples(caps=[5.0], peer=[5.0]))
        assert found.verdict is Verdict.SKIPPED
        assert "`pere`" in found.reason


class TestResults:
    def test_the_short_form_has_three_fields_for_each_comparison(self) -> None:
        """It is what other programs read."""
        one = outcome(Comparison(name="a_b", against="peer"), samples(caps=[10.0], peer=[40.0]))
        assert latest([one]) == {"a_b": {"median_us": 10.0, "ratio": 0.25, "against": "peer"}}

    def test_what_is_no_time_has_no_microseconds(self) -> None:
        """Megabytes do not pass for microseconds."""
        comparison = Comparison(name="a", against="2 MB", figure=2.0)
        one = outcome(comparison, samples(caps=[1.0]), Unit.MEGABYTES)
        assert latest([one]) == {"a": {"median_us": None, "ratio": 0.5, "against": "2 MB"}}

    def test_what_was_skipped_is_in_the_details_only(self) -> None:
        """With its reason."""
        found = Samples(values={"caps": [5.0]}, skipped={"peer": "it is not installed"})
        one = outcome(Comparison(name="a", against="peer", goal=1.0), found)
        assert latest([one]) == {}
        row = details(run_of(one))["rows"]["row"]
        assert row["comparisons"]["a"]["verdict"] == "skipped"
        assert row["skipped"] == {"peer": "it is not installed"}

    def test_a_run_says_how_busy_the_machine_was(self) -> None:
        """At its start and at its end."""
        told = details(run_of())["load_average"]
        assert told == {"start": [0.5, 0.4, 0.3], "end": [1.25, 0.9, 0.6]}

    def test_the_details_of_a_quick_run_hold_no_verdict(self) -> None:
        """A reader of the file is not misled either."""
        comparison = Comparison(name="a", against="peer", goal=0.1)
        one = outcome(comparison, samples(caps=[1.0], peer=[1.0]), effort=Effort.QUICK)
        found = details(run_of(one, effort=Effort.QUICK))["rows"]["row"]["comparisons"]["a"]
        assert (found["ratio"], found["verdict"]) == (1.0, "shown")

    def test_a_directory_is_made_and_nothing_is_left_of_the_trial(self, tmp_path: Path) -> None:
        """With those above it; once more changes nothing."""
        place = tmp_path / "a" / "b"
        prepare(place)
        prepare(place)
        assert list(place.iterdir()) == []

    def test_a_row_that_failed_has_no_findings(self) -> None:
        """And its failure is kept."""
        one = outcome(Comparison(name="a", against="peer"), samples())
        failed = Outcome(row=one.row, samples=None, seconds=1.0, failure="it broke")
        assert (failed.findings, latest([failed])) == ((), {})
        assert details(run_of(failed))["rows"]["row"]["failure"] == "it broke"


class TestAlternatives:
    @pytest.mark.parametrize(
        ("made", "kept", "each", "whole"),
        [
            (9.0, 1.0, (Verdict.NOT_NEEDED, Verdict.MET), Verdict.MET),
            (1.0, 9.0, (Verdict.MET, Verdict.NOT_NEEDED), Verdict.MET),
            (1.0, 1.0, (Verdict.MET, Verdict.MET), Verdict.MET),
            (9.0, 9.0, (Verdict.MISSED, Verdict.MISSED), Verdict.MISSED),
        ],
    )
    def test_either_is_enough(
        self, made: float, kept: float, each: tuple[Verdict, Verdict], whole: Verdict
    ) -> None:
        """Two comparisons are one goal, missed if both are."""
        found = judge_all(EITHER, samples(made=[made], kept=[kept], peer=[10.0]))
        assert tuple(finding.verdict for finding in found) == each
        (goal,) = goals(found)
        assert goal.verdict is whole

    def test_what_could_not_be_measured_does_not_excuse_the_other(self) -> None:
        """It is missed; if neither could be, it is skipped."""
        assert Goal(findings=judge_all(EITHER, samples(made=[9.0], peer=[10.0]))).verdict is (
            Verdict.MISSED
        )
        assert Goal(findings=judge_all(EITHER, samples())).verdict is Verdict.SKIPPED

    def test_others_are_goals_of_their_own(self) -> None:
        """And a comparison without a goal is not one."""
        comparisons = (
            *EITHER,
            Comparison(name="more", ours="made", against="peer", goal=1.0),
            Comparison(name="shown", ours="made", against="peer"),
        )
        found = goals(judge_all(comparisons, samples(made=[1.0], kept=[1.0], peer=[2.0])))
        names = [[each.comparison.name for each in goal.findings] for goal in found]
        assert names == [["made", "kept"], ["more"]]

    def test_an_alternative_is_to_a_goal_of_the_same_row(self) -> None:
        """A misspelt name would make it a separate goal."""
        for row in ROWS:
            promised = {each.name for each in row.comparisons if each.goal is not None}
            for each in row.comparisons:
                if each.alternative_to is not None:
                    assert {each.name, each.alternative_to} <= promised


class TestTables:
    def test_alternatives_are_one_line_of_the_goals(self) -> None:
        """With both ratios, and one bound."""
        one = outcome(EITHER, samples(made=[9.0], kept=[1.0], peer=[10.0]))
        told = printed(lambda console: tables.summary(console, run_of(one)))
        (line,) = [line for line in told.splitlines() if "made" in line]
        assert line.split() == [
            "made",
            "or",
            "kept",
            "(peer)",
            "0.9",
            "or",
            "0.1",
            "<=",
            "0.5",
            "met",
        ]

    def test_the_load_is_told(self) -> None:
        """A reader can tell whether the machine was busy."""
        told = printed(lambda console: tables.summary(console, run_of()))
        assert "load average 0.50 at the start, 1.25 at the end" in told

    def test_a_quick_run_says_above_and_below_that_it_cannot_tell(self) -> None:
        """And says of no goal that it is met or missed, in the row neither."""
        comparisons = (
            Comparison(name="a", against="peer", goal=0.1),
            Comparison(name="b", against="peer", goal=10.0),
        )
        one = outcome(comparisons, samples(caps=[1.0], peer=[1.0]), effort=Effort.QUICK)
        quick = run_of(one, effort=Effort.QUICK)
        told = printed(lambda console: tables.summary(console, quick))
        assert told.count("a quick run: too few samples for a verdict") == 2
        told += printed(lambda console: tables.show(console, one)) + tables.count(quick)
        assert "met" not in told.split()
        assert "missed" not in told

    @pytest.mark.parametrize(
        ("ours", "goal", "form", "ratio", "bound"),
        [
            (1.1004, 1.1, Form.TIME, "1.1004", "<= 1.1"),
            (0.02859, 1 / 35, Form.TIME, "0.02859", "<= 0.02857"),
            (1 / 1.9996, 2.0, Form.RATE, "1.9996", ">= 2"),
            (1.0996, 1.1, Form.TIME, "1.1", "<= 1.1"),
            (1.2345, 1.1, Form.TIME, "1.23", "<= 1.1"),
        ],
    )
    def test_a_ratio_shows_on_which_side_of_its_goal_it_is(
        self, ours: float, goal: float, form: Form, ratio: str, bound: str
    ) -> None:
        """`1.1` is not missed where 1.1 is allowed; where three digits will do there are three."""
        comparison = Comparison(name="a", against="peer", goal=goal, form=form)
        one = outcome(comparison, samples(caps=[ours], peer=[1.0]))
        told = printed(lambda console: tables.summary(console, run_of(one)))
        (line,) = [line for line in told.splitlines() if "(peer)" in line]
        assert line.split()[2:5] == [ratio, *bound.split()]

    @pytest.mark.parametrize(
        ("missed", "told"),
        [
            (0, "0 goals missed, 1 skipped, of 1"),
            (1, "1 goal missed, 1 skipped, of 2"),
            (2, "2 goals missed, 1 skipped, of 3"),
        ],
    )
    def test_the_last_line_counts_missed_and_skipped_goals(self, missed: int, told: str) -> None:
        """One is in the singular."""
        comparisons = (
            Comparison(name="gone", against="nobody", goal=1.0),
            *(Comparison(name=f"n{n}", against="peer", goal=0.1) for n in range(missed)),
        )
        one = outcome(comparisons, samples(caps=[1.0], peer=[1.0]))
        assert tables.count(run_of(one)) == told

    def test_who_is_not_installed_is_told_once_with_a_command(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The rows only name them, whatever else they are called there."""
        here = Peer("here", "json", "bench-here")
        monkeypatch.setattr(peers, "EVERYONE", (NOBODY, here))
        assert NOBODY.missing is not None
        skipped = {"nobody, one way": NOBODY.missing, "nobody, another": NOBODY.missing}
        one = outcome(
            Comparison(name="a", against="nobody, one way", goal=1.0),
            Samples(values={"caps": [1.0]}, skipped={**skipped, "slow": "it takes too long"}),
        )
        first = printed(tables.show_absent).splitlines()
        assert first == [
            "skipped, as not installed: nobody; this brings them:",
            f"  {installing('bench-nobody')}",
        ]
        row = printed(lambda console: tables.show(console, one))
        assert "  skipped: nobody\n  skipped slow: it takes too long\n" in row
        assert "pip" not in row

    def test_nothing_is_said_if_everybody_is_here(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """There is nothing to do."""
        monkeypatch.setattr(peers, "EVERYONE", (Peer("here", "json", "bench-here"),))
        assert printed(tables.show_absent) == ""

    def test_the_command_uses_this_interpreter_and_the_pinned_versions(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """By the short path where it is in the checkout, else by the whole one."""
        monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv" / "bin" / "python"))
        rest = "-m pip install -c constraints.txt -e '.[bench-a,bench-b]'"
        assert installing("bench-a", "bench-b") == f"{tmp_path}/.venv/bin/python {rest}"
        monkeypatch.chdir(tmp_path)
        assert installing("bench-a", "bench-b") == f".venv/bin/python {rest}"


class TestTurns:
    async def test_contenders_take_turns(self) -> None:
        """A B A B, and the rounds for warming up are not counted."""
        order: list[str] = []

        def side(name: str) -> Contender:
            @asynccontextmanager
            async def opened() -> AsyncIterator[Turn]:
                async def turn() -> float:
                    order.append(name)
                    return float(len(order))

                yield turn

            return Contender(name, opened)

        rounds = Rounds(2, 60, warm_up=1, settle=False)
        found = await take_turns((side("a"), side("b")), rounds, lambda *_: None)
        assert order == ["a", "b"] * 3
        assert found.values == {"a": [3.0, 5.0], "b": [4.0, 6.0]}

    async def test_a_slow_one_has_fewer_turns(self) -> None:
        """And none for warming up."""

        @asynccontextmanager
        async def opened() -> AsyncIterator[Turn]:
            async def turn() -> float:
                return 1.0

            yield turn

        sides = (Contender("slow", opened, most_turns=1), Contender("quick", opened))
        found = await take_turns(sides, Rounds(3, 60, settle=False), lambda *_: None)
        assert found.values == {"slow": [1.0], "quick": [1.0, 1.0, 1.0]}

    async def test_a_peer_that_is_missing_is_skipped_and_says_how_to_get_it(self) -> None:
        """The others are measured anyway."""
        side = broken("nobody", AssertionError("it was opened"), NOBODY)
        found = await take_turns((side,), Rounds(1, 60, settle=False), lambda *_: None)
        assert found.values == {}
        assert installing("bench-nobody") in found.skipped["nobody"]

    async def test_a_peer_that_cannot_do_it_is_skipped_with_its_first_line(self) -> None:
        """It may lack what the program needs."""
        error = RuntimeError("no decorators\nat all")
        side = broken("here", error, Peer("here", "json", "bench-here"))
        found = await take_turns((side,), Rounds(1, 60, settle=False), lambda *_: None)
        assert found.skipped == {"here": "here cannot do it: no decorators"}

    async def test_a_peer_that_fails_in_its_turn_takes_no_further_part(self) -> None:
        """What it did before does not count, and the others continue."""
        played: list[str] = []

        def side(name: str, peer: Peer | None) -> Contender:
            @asynccontextmanager
            async def opened() -> AsyncIterator[Turn]:
                async def turn() -> float:
                    played.append(name)
                    if played.count("peer") == 2 and name == "peer":
                        raise RuntimeError("tired")
                    return 1.0

                yield turn

            return Contender(name, opened, peer)

        sides = (side("peer", Peer("here", "json", "bench-here")), side("caps", None))
        rounds = Rounds(3, 60, warm_up=0, settle=False)
        found = await take_turns(sides, rounds, lambda *_: None)
        assert played == ["peer", "caps", "peer", "caps", "caps"]
        assert found.values == {"caps": [1.0, 1.0, 1.0]}
        assert found.skipped == {"peer": "here cannot do it: tired"}

    async def test_our_own_failure_is_not_skipped(self) -> None:
        """A row that Caps cannot do is an error."""
        side = broken("caps", RuntimeError("broken"))
        with pytest.raises(RuntimeError, match="broken"):
            await take_turns((side,), Rounds(1, 60), lambda *_: None)


class TestInterrupts:
    """The signal goes to this process; only the rows are invented."""

    def ended(
        self,
        monkeypatch: pytest.MonkeyPatch,
        place: Path,
        measure: Callable[..., Awaitable[Samples]],
    ) -> int:
        row = Row(name="row", title="a row", comparisons=(), measure=measure)
        monkeypatch.setattr(run, "chosen", lambda _: (row,))
        return run.main(["--results", str(place)])

    def test_before_a_row_is_measured_nothing_is_written(
        self,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        """What an earlier run left there stays."""
        (tmp_path / "latest.json").write_text("earlier")

        async def measure(*_: object) -> Samples:
            signal.raise_signal(signal.SIGINT)
            await anyio.sleep_forever()
            return samples()

        assert self.ended(monkeypatch, tmp_path, measure) == 130
        assert [path.name for path in tmp_path.iterdir()] == ["latest.json"]
        assert (tmp_path / "latest.json").read_text() == "earlier"
        told = capfd.readouterr()
        assert "interrupted before a row was measured: nothing is written" in told.out
        assert told.err == ""

    def test_a_row_that_fails_of_it_is_no_row_that_failed(
        self,
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        """The interrupt ends processes, too, and what that raises may hide it."""

        async def measure(*_: object) -> Samples:
            signal.raise_signal(signal.SIGINT)
            try:
                await anyio.sleep_forever()
            finally:
                raise RuntimeError("the process is gone")

        assert self.ended(monkeypatch, tmp_path, measure) == 130
        told = capfd.readouterr()
        assert "the process is gone" not in told.out + told.err

    def test_a_peer_that_fails_of_it_ends_the_row(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """It is not skipped, and no side has a further turn."""
        played: list[str] = []

        def side(name: str, peer: Peer | None) -> Contender:
            @asynccontextmanager
            async def opened() -> AsyncIterator[Turn]:
                async def turn() -> float:
                    played.append(name)
                    if peer is not None:
                        signal.raise_signal(signal.SIGINT)
                        raise RuntimeError("the process is gone")
                    return 1.0

                yield turn

            return Contender(name, opened, peer)

        async def measure(*_: object) -> Samples:
            sides = (side("caps", None), side("peer", Peer("here", "json", "bench-here")))
            return await take_turns(sides, Rounds(3, 60, settle=False), lambda *_: None)

        assert self.ended(monkeypatch, tmp_path, measure) == 130
        assert played == ["caps", "peer"]


class TestRounds:
    def test_no_round_begins_when_the_time_is_over(self) -> None:
        """But there are as many as are needed."""
        rounds = Rounds(1000, 1e-9, warm_up=2, fewest=3)
        seen: list[tuple[int, int]] = []
        numbers = list(rounds.numbers(lambda done, total: seen.append((done, total))))
        assert numbers[:5] == [-2, -1, 0, 1, 2]
        assert len(numbers) < 1000
        assert seen[-1] == (100, 100)

    def test_there_are_no_more_rounds_than_asked_for(self) -> None:
        """However much time there is."""
        assert list(Rounds(2, 60, warm_up=1).numbers(lambda *_: None)) == [-1, 0, 1]


class TestCatalogue:
    def test_names_are_unique(self) -> None:
        """They are keys of latest.json."""
        names = [each.name for row in ROWS for each in row.comparisons]
        assert sorted(set(names)) == sorted(names)

    @pytest.mark.parametrize(
        ("name", "goal"),
        [
            ("start_seen", 0.3),
            ("start_new", 0.5),
            ("start_no_spare", 1.5),
            ("sustained_new", 0.6),
            ("sustained_seen", 0.8),
            ("session_cell", 2.3),
            ("call_vs_monty", 2.2),
            ("call_vs_mcp", 0.12),
            ("call_cpu", 1.0),
            ("gather_vs_monty", 0.28),
            ("gather_vs_mcp", 0.04),
            ("audit_sync_64", 15),
            ("audit_cpu_64", 1.0),
            ("decision", 1.0),
            ("decision_vs_cedar", 1 / 30),
            ("injection", 1.0),
            ("injection_thousand", 1.0),
            ("cpu_loops", 1.10),
            ("cpu_classes", 1.10),
            ("cpu_dicts", 1.10),
            ("cpu_strings", 1.10),
            ("cpu_comprehensions", 1.10),
            ("cpu_json_and_regex", 1.10),
            ("compile_50", 0.5),
            ("idle_spare", 1.0),
            ("cold_run", 1.0),
        ],
    )
    def test_every_goal_has_its_row(self, name: str, goal: float) -> None:
        """A goal is not loosened by accident."""
        by_name = {each.name: each for row in ROWS for each in row.comparisons}
        assert by_name[name].goal == goal

    def test_rows_are_chosen_by_how_their_names_begin(self) -> None:
        """`cpu` is all programs."""
        names = [row.name for row in chosen(["cpu", "decision"])]
        assert names[0] == "decision"
        assert len(names) >= 6
        assert all(name.startswith(("cpu_", "decision")) for name in names)

    def test_a_row_that_does_not_exist_is_an_error(self) -> None:
        """Otherwise a misspelt name would measure nothing and look good."""
        with pytest.raises(LookupError, match="nothing_of_the_kind"):
            chosen(["decision", "nothing_of_the_kind"])

    def test_every_peer_has_an_extra_of_its_own(self) -> None:
        """And the message of a skipped row names that extra."""
        extras = [peer.extra for peer in EVERYONE]
        assert sorted(set(extras)) == sorted(extras)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ten of them", "ten of them"),
        ("ten of those", "ten of …"),
        ("nine nine nine", "nine nine …"),
        ("uninterrupted", "uninterrup…"),
    ],
)
def test_a_long_reason_is_cut_at_a_word(text: str, told: str) -> None:
    """And says that there is more; at most eleven characters here."""
    assert cut_at_a_word(text, 11) == told
    assert len(told) <= 11


async def test_the_plain_writer_writes_as_much_as_the_log(tmp_path: Path) -> None:
    """Else the ratio would be of different work."""
    async with AuditLog.open(tmp_path) as log:
        await log.append(decision(1))
    opened, record = (tmp_path / "audit-000001.jsonl").read_bytes().splitlines(keepends=True)[:2]
    assert b"files.read" not in opened
    assert (len(record), len(plain_line())) == (RECORD_BYTES, RECORD_BYTES)


def test_import_times_are_summed_by_package() -> None:
    """Only the lines of `-X importtime` count, and of those each module's own time."""
    told = (
        "import time: self [us] | cumulative | imported package\n"
        "import time:       100 |        100 |   json.decoder\n"
        "import time:        50 |        150 | json\n"
        "import time:         7 |          7 | re\n"
        "caps: something else\n"
    )
    assert imports_by_package(told) == {"json": 150, "re": 7}


def test_the_shortest_of_five_turns_in_a_row_makes_a_sample() -> None:
    """What slows the machine for a turn or two is in none of them."""
    assert best_of([5.0, 9.0, 4.0, 8.0, 7.0, 3.0, 6.0]) == [4.0, 3.0]
    assert best_of([2.0, 1.0]) == [1.0]
    assert best_of([]) == []
