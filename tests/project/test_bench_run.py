"""The benchmark, run as a command: what it prints and what it leaves."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def done(results: Path) -> subprocess.CompletedProcess[str]:
    """Two cheap rows, one of them in a real worker."""
    only = ("--only", "decision", "--only", "session_cell")
    return bench("--quick", "--json", "--results", str(results), *only)


def test_a_row_runs_to_its_end(done: subprocess.CompletedProcess[str]) -> None:
    """The last line counts goals, and a quick run gives no verdict on them."""
    assert done.returncode == 0, done.stderr
    assert "decision alone" in done.stderr
    assert "a quick run: too few samples for a verdict" in done.stderr
    assert " without a verdict, " in done.stderr.splitlines()[-1]
    assert "missed" not in done.stderr


def test_latest_json_has_the_promised_form(
    done: subprocess.CompletedProcess[str], results: Path
) -> None:
    """Three fields for each name, and standard output is the same and nothing else."""
    written = json.loads((results / "latest.json").read_text())
    assert json.loads(done.stdout) == written
    assert "decision" in written
    for name, one in written.items():
        assert set(one) == {"median_us", "ratio", "against"}, name
        assert one["median_us"] > 0
        assert one["ratio"] > 0
        assert one["against"]


def test_the_details_tell_of_everybody(
    done: subprocess.CompletedProcess[str], results: Path
) -> None:
    """A peer that is not measured is skipped, with the command that installs it."""
    assert done.returncode == 0
    row = json.loads((results / "details.json").read_text())["rows"]["session_cell"]
    assert row["contenders"]["caps"]["samples"] > 0
    side = "monty, open session"
    assert side in row["contenders"] or "bench-monty" in row["skipped"][side]


def test_the_details_tell_how_busy_the_machine_was(
    done: subprocess.CompletedProcess[str], results: Path
) -> None:
    """And the last lines do."""
    load = json.loads((results / "details.json").read_text())["load_average"]
    assert {when: len(minutes) for when, minutes in load.items()} == {"start": 3, "end": 3}
    told = f"load average {load['start'][0]:.2f} at the start, {load['end'][0]:.2f} at the end"
    assert told in done.stderr


def test_goals_that_are_missed_are_no_failure(tmp_path: Path) -> None:
    """A full run judges them, and ends well either way."""
    judged = bench("--only", "decision", "--results", str(tmp_path))
    assert judged.returncode == 0, judged.stderr
    assert re.search(r"\d goals? missed, \d skipped, of 2; figures in ", judged.stdout)
    assert "verdict" not in judged.stdout


def test_an_interrupted_run_keeps_the_rows_it_has(tmp_path: Path) -> None:
    """It shows and writes them, says so, and prints no traceback."""
    arguments = ("--only", "decision", "--only", "injection", "--results", str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-m", "bench", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        # The next row takes many seconds more, and the test does not wait for them.
        seen = next(line for line in process.stdout if "decision alone" in line)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to all of them
        told = process.stdout.read()
    assert process.returncode == 130, told
    assert "(decision, " in seen
    assert "interrupted: 1 of 2 rows" in told
    assert "Traceback" not in told
    assert "decision" in json.loads((tmp_path / "latest.json").read_text())
    assert json.loads((tmp_path / "details.json").read_text())["interrupted"] is True


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_place_that_is_no_directory_is_refused_before_anything_is_measured(
    tmp_path: Path, below: str
) -> None:
    """In one line, with what to do."""
    file = tmp_path / "file"
    file.write_text("mine")
    refused = bench("--results", str(file / below))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        f"bench: cannot write to `{file / below}`: not a directory; "
        "name a directory with --results\n"
    )
    assert file.read_text() == "mine"


def test_the_list_names_the_rows() -> None:
    """Without measuring anything."""
    listed = bench("--list")
    assert listed.returncode == 0
    assert "start_seen" in listed.stdout


def test_the_list_can_be_narrowed() -> None:
    """By the same beginnings that choose what is run."""
    listed = bench("--list", "--only", "sustained")
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert names == ["sustained_new", "sustained_seen"]


def test_a_row_that_does_not_exist_is_refused() -> None:
    """In one line, with what to do."""
    refused = bench("--only", "nothing_of_the_kind")
    assert refused.returncode == 2
    assert refused.stderr == (
        "bench: no row begins with `nothing_of_the_kind`; --list names them\n"
    )
