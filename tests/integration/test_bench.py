"""The benchmark, run as a command: what it prints and what it leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
    """Goals missed are no failure."""
    assert done.returncode == 0, done.stderr
    assert "decision alone" in done.stderr
    assert "goals missed" in done.stderr


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
    """Whoever is not measured is skipped, with what installs it."""
    assert done.returncode == 0
    row = json.loads((results / "details.json").read_text())["rows"]["session_cell"]
    assert row["contenders"]["caps"]["samples"] > 0
    side = "monty, open session"
    assert side in row["contenders"] or "bench-monty" in row["skipped"][side]


def test_the_list_names_the_rows() -> None:
    """Without measuring anything."""
    listed = bench("--list")
    assert listed.returncode == 0
    assert "start_seen" in listed.stdout


def test_a_row_that_does_not_exist_is_refused() -> None:
    """In one line, with what to do."""
    refused = bench("--only", "nothing_of_the_kind")
    assert refused.returncode == 2
    assert refused.stderr == (
        "bench: no row begins with `nothing_of_the_kind`; --list names them\n"
    )
