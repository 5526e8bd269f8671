"""A test without the marker `process` cannot start a process, and fails if it tries."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

CONFTEST = """
import pytest
from support.process_starts import ProcessStarts

def pytest_configure(config):
    config.addinivalue_line("markers", "process: starts a process")
    config.pluginmanager.register(ProcessStarts())
"""

MODULE = """
import os, subprocess, sys
import pytest

def start():
    subprocess.run([sys.executable, "-c", ""], check=True)

@pytest.fixture(scope="module")
def started():
    start()

@pytest.fixture(scope="module")
def stopped_by_a_process():
    yield
    start()

@pytest.mark.process
def test_marked(started): start()

def test_unmarked(): start()

def test_unmarked_that_catches_the_error():
    try:
        os.system("true")
    except RuntimeError:
        pass

def test_unmarked_with_a_fixture_that_another_test_started(started): pass

def test_without_any(stopped_by_a_process): pass
"""


@pytest.mark.process
def test_a_start_without_the_marker_fails_the_test(tmp_path: Path) -> None:
    """Also if the error is caught, and if a shared fixture started it for another test."""
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(MODULE)
    command = [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(TESTS)}, capture_output=True, text=True, check=False
    )
    lines = re.findall(r"^(PASSED|FAILED|ERROR) \S+::(\w+)", done.stdout, re.MULTILINE)
    ends = {name: end for end, name in lines}
    assert ends == {
        "test_marked": "PASSED",
        "test_unmarked": "FAILED",
        "test_unmarked_that_catches_the_error": "FAILED",
        "test_unmarked_with_a_fixture_that_another_test_started": "ERROR",
        "test_without_any": "PASSED",
    }, done.stdout
