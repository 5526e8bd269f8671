"""The conformance suite of MCP against `caps mcp serve --http`, for every protocol version.

`support/conformance_failures.json` has the checks that do not apply, with their reasons.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.mcp_serving import http_server, policy_file
from support.node_tools import node_command

SUPPORT = Path(__file__).parents[2] / "support"
VERSIONS = ("2025-06-18", "2025-11-25", "2026-07-28")
_DIRECTORY = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    node_command("conformance")
    state = tmp_path_factory.mktemp("conformance")
    policy = policy_file(
        state, allow=["conformance.*", "session_files.*"], scopes={"session_files": {}}
    )
    options = ("--no-token", "--policy", policy, "--agent", "support/conformance.json")
    registry = ("--registry", "support.conformance_registry:registry")
    with http_server(state, *options, *registry) as found:
        yield found


def expected() -> set[tuple[str, str]]:
    """Scenario and check of everything that does not apply."""
    document = json.loads((SUPPORT / "conformance_failures.json").read_text())
    groups = document["groups"]
    assert all(len(group["reason"]) > 40 for group in groups)
    return {
        (scenario, check)
        for group in groups
        for scenario, checks in group["checks"].items()
        for check in checks
    }


def results(directory: Path) -> dict[tuple[str, str], str]:
    """The status of each check, by scenario; a check that fails once has failed."""
    found: dict[tuple[str, str], str] = {}
    for file in directory.glob("*/checks.json"):
        match = _DIRECTORY.fullmatch(file.parent.name)
        assert match is not None, file.parent.name
        for check in json.loads(file.read_text()):
            key = (match.group(1), check["id"])
            if found.get(key) != "FAILURE":
                found[key] = check["status"]
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_every_check_that_applies_passes(version: str, address: str, tmp_path: Path) -> None:
    """And each one that does not apply fails: the list of exceptions has none too many."""
    run = subprocess.run(
        [
            *(*node_command("conformance"), "server", "--url", address, "--suite", "all"),
            *("--spec-version", version, "--output-dir", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    found = results(tmp_path)
    assert len(found) > 50, run.stdout + run.stderr
    failed = {key for key, status in found.items() if status == "FAILURE"}
    ran = {scenario for scenario, _ in found}
    assert failed == {each for each in expected() if each[0] in ran}
    assert sum(status == "SUCCESS" for status in found.values()) >= 40


def test_every_scenario_is_run_or_has_a_reason() -> None:
    """Extensions are not run; a name that the suite does not have excuses nothing."""
    listed = subprocess.run(
        [*node_command("conformance"), "list", "--server"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    scenarios = dict(re.findall(r"^  - (\S+) \[(.+)\]$", listed, re.MULTILINE))
    not_run = {name for name, where in scenarios.items() if not set(where.split(",")) & {*VERSIONS}}
    document = json.loads((SUPPORT / "conformance_failures.json").read_text())
    assert not_run == set(document["not_run"])
    assert all(len(reason) > 40 for reason in document["not_run"].values())
    assert {scenario for scenario, _ in expected()} <= set(scenarios)
