"""The benchmark's arithmetic and what it does about peers that are not here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bench.catalogue import ROWS, chosen
from bench.figures import Comparison, Form, Samples, Unit, Verdict, judge, median, p95
from bench.interleaving import Contender, Rounds, Turn, take_turns
from bench.peers import EVERYONE, Peer
from bench.results import Outcome, details, latest, missed
from bench.rows import Effort, Row
from bench.scenarios.cold import imports_by_package
from bench.scenarios.cpu import best_of

pytestmark = pytest.mark.anyio

NOBODY = Peer("nobody", "no_such_module_anywhere", "bench-nobody")


def samples(**values: list[float]) -> Samples:
    return Samples(values=values)


def outcome(comparison: Comparison, found: Samples, unit: Unit = Unit.MICROSECONDS) -> Outcome:
    async def measure(*_: object) -> Samples:
        return found

    row = Row(name="row", title="a row", comparisons=(comparison,), measure=measure, unit=unit)
    return Outcome(row=row, samples=found, seconds=1.0)


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
        row = details([one], Effort.QUICK)["rows"]["row"]
        assert row["comparisons"]["a"]["verdict"] == "skipped"
        assert row["skipped"] == {"peer": "it is not installed"}

    def test_missed_goals_are_found(self) -> None:
        """They are what the last line counts."""
        comparison = Comparison(name="a", against="peer", goal=0.1)
        found = missed([outcome(comparison, samples(caps=[1.0], peer=[1.0]))])
        assert [each.comparison.name for each in found] == ["a"]

    def test_a_row_that_failed_has_no_findings(self) -> None:
        """And its failure is kept."""
        one = outcome(Comparison(name="a", against="peer"), samples())
        failed = Outcome(row=one.row, samples=None, seconds=1.0, failure="it broke")
        assert (failed.findings, latest([failed])) == ((), {})
        assert details([failed], Effort.FULL)["rows"]["row"]["failure"] == "it broke"


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
        """The others are measured all the same."""
        side = broken("nobody", AssertionError("it was opened"), NOBODY)
        found = await take_turns((side,), Rounds(1, 60, settle=False), lambda *_: None)
        assert found.values == {}
        assert "pip install -e '.[bench-nobody]'" in found.skipped["nobody"]

    async def test_a_peer_that_cannot_do_it_is_skipped_with_its_first_line(self) -> None:
        """It may lack what the program needs."""
        error = RuntimeError("no decorators\nat all")
        side = broken("here", error, Peer("here", "json", "bench-here"))
        found = await take_turns((side,), Rounds(1, 60, settle=False), lambda *_: None)
        assert found.skipped == {"here": "here cannot do it: no decorators"}

    async def test_a_peer_that_fails_in_its_turn_takes_no_further_part(self) -> None:
        """What it did before does not count, and the others go on."""
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
            ("start_seen", 0.6),
            ("start_new", 0.15),
            ("start_no_spare", 0.75),
            ("sustained_new", 1.2),
            ("sustained_seen", 2.0),
            ("session_cell", 1.0),
            ("call_vs_echo", 3.5),
            ("call_vs_monty", 0.6),
            ("call_vs_mcp", 1 / 35),
            ("gather_vs_monty", 0.12),
            ("gather_vs_mcp", 1 / 50),
            ("audit_sync_64", 20),
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
        """Else a misspelt name would measure nothing and look well."""
        with pytest.raises(LookupError, match="nothing_of_the_kind"):
            chosen(["decision", "nothing_of_the_kind"])

    def test_every_peer_has_an_extra_of_its_own(self) -> None:
        """And what it is skipped with names that extra."""
        extras = [peer.extra for peer in EVERYONE]
        assert sorted(set(extras)) == sorted(extras)


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
