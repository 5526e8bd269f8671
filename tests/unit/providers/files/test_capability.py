"""The capability `files`: its settings become the scope, and its tools are the functions."""

from __future__ import annotations

from typing import Any

import pytest

from caps import AgentInvalidError, CapabilityRegistry, ResolverContext
from caps.providers.files import register_files


@pytest.fixture(scope="module")
def registry() -> CapabilityRegistry:
    made = CapabilityRegistry()
    register_files(made)
    return made


def test_every_function_is_behind_one_tool(registry: CapabilityRegistry) -> None:
    """And every tool has a function that exists."""
    (known,) = registry.known_capabilities()
    assert {tool.key: tool.function for tool in known.tools} == {
        "read_file": "files.read",
        "write_file": "files.write",
        "list_directory": "files.list",
        "stat_file": "files.stat",
        "delete_file": "files.delete",
        "grep_files": "files.grep",
        "glob_files": "files.glob",
        "copy_file": "files.copy",
        "move_file": "files.move",
    }
    assert {tool.function for tool in known.tools} == {spec.name for spec in registry}
    assert all(tool.name and tool.description for tool in known.tools)


@pytest.mark.parametrize(
    ("dirs", "allowlist"),
    [
        (["/data/reports"], ["/data/reports"]),
        (["reports", "/data"], ["/work space/reports", "/data"]),
        (["."], ["/work space"]),
    ],
)
def test_directories_become_the_allowlist(
    registry: CapabilityRegistry, dirs: list[str], allowlist: list[str]
) -> None:
    """Relative ones are in the workspace, whatever directory the host runs in."""
    ctx = ResolverContext(workspace_dir="/work space")
    policy = registry.resolve({"files": {"dirs": dirs}}, ctx).policy
    assert policy.scopes == {"files": {"allowlist": allowlist}}
    assert len(registry.bind(policy).granted) == 9


def test_denied_patterns_become_the_denylist(registry: CapabilityRegistry) -> None:
    """A pattern that leads out of the directories is refused."""
    policy = registry.resolve({"files": {"dirs": ["/data"], "deny": ["**/.env"]}}).policy
    assert policy.scopes == {"files": {"allowlist": ["/data"], "denylist": ["**/.env"]}}
    with pytest.raises(AgentInvalidError, match="must be relative"):
        registry.resolve({"files": {"dirs": ["/data"], "deny": ["../x"]}})


@pytest.mark.parametrize("workspace", ["", "somewhere"])
def test_a_relative_directory_needs_a_workspace(
    registry: CapabilityRegistry, workspace: str
) -> None:
    """Nothing is guessed from where the host happens to run."""
    ctx = ResolverContext(workspace_dir=workspace)
    with pytest.raises(AgentInvalidError, match=r"`reports` at `capabilities\.files\.dirs` is rel"):
        registry.resolve({"files": {"dirs": ["reports"]}}, ctx)


@pytest.mark.parametrize(
    ("dirs", "said"),
    [
        ([], "should have at least 1 item"),
        ([""], "is not the path of a directory"),
        (["a\0b"], "is not the path of a directory"),
        (["~/x"], "`~` is not expanded"),
        (["/" + "x" * 5000], "is longer than 4095 bytes"),
        ("/data", "should be an array, got string"),
        ([3], "should be a string, got number"),
        (["/x"] * 257, "should have at most 256 items"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_what_is_not_a_directory_is_refused(
    registry: CapabilityRegistry, dirs: Any, said: str
) -> None:
    """As in a policy, and with the place in the agent's object."""
    with pytest.raises(AgentInvalidError, match=said) as raised:
        registry.resolve({"files": {"dirs": dirs}})
    assert str(raised.value).startswith("capability `files`: ")
    assert str(raised.value.place).startswith("capabilities.files.dirs")


@pytest.mark.parametrize("entry", ["..", "../other", "a/../../b", "../workspace2"])
def test_a_relative_directory_stays_in_the_workspace(
    registry: CapabilityRegistry, entry: str
) -> None:
    """One that leaves it has to be written in full, so that nobody overlooks it."""
    context = ResolverContext(workspace_dir="/data/workspace")
    with pytest.raises(AgentInvalidError, match="leaves the workspace; write the path in full"):
        registry.resolve({"files": {"dirs": [entry]}}, context)


def test_paths_are_normalised(registry: CapabilityRegistry) -> None:
    """What a reviewer reads is what is reached."""
    context = ResolverContext(workspace_dir="/data/workspace")
    given = {"files": {"dirs": ["a/../b", "/etc/../srv"]}}
    found = registry.resolve(given, context).policy.scopes["files"]["allowlist"]
    assert found == ["/data/workspace/b", "/srv"]
