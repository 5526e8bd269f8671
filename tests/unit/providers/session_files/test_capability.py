"""The capability `session_file_system`, as specification 004 describes it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from caps import CapabilityStatus, builtin_registry
from caps.providers.session_files.tree import SeenVersions

REGISTRY = builtin_registry(plugins="off")


@pytest.mark.spec(
    "004-files-status",
    "004-files-id",
    "004-files-purpose",
    "004-files-prompt",
    "004-files-tools",
    "004-files-icon",
    "004-files-category",
    "004-files-read",
    "004-files-write",
    "004-files-list",
    "004-files-grep",
    "004-files-delete",
    "004-files-stat",
)
def test_it_is_listed_as_specified() -> None:
    """Key, status, icon, category, prompt and six tools."""
    (known,) = [each for each in REGISTRY.known_capabilities() if each.key == "session_file_system"]
    assert (known.status, known.icon, known.category) == (
        CapabilityStatus.AVAILABLE,
        "folder",
        "File Operations",
    )
    assert [tool.key for tool in known.tools] == [
        *("read_file", "write_file", "list_directory", "grep_files", "delete_file", "stat_file"),
    ]
    assert known.system_prompt is not None
    for tool in known.tools:
        assert tool.key in known.system_prompt


def test_an_agent_gets_its_functions_and_its_own_tree() -> None:
    """The policy that it amounts to has the default scope."""
    resolved = REGISTRY.resolve({"session_file_system": {"tools": ["read_file", "grep_files"]}})
    assert set(resolved.policy.allow) == {"session_files.read", "session_files.grep"}
    assert resolved.policy.scopes == {"session_files": {}}
    assert REGISTRY.bind(resolved.policy).granted == resolved.policy.allow


@pytest.mark.spec(
    "004-files-read-parameters",
    "004-files-read-path",
    "004-files-write-parameters",
    "004-files-write-path",
    "004-files-write-content",
    "004-files-write-encoding",
    "004-files-list-parameters",
    "004-files-list-path",
    "004-files-grep-parameters",
    "004-files-grep-pattern",
    "004-files-grep-path-pattern",
    "004-files-delete-parameters",
    "004-files-delete-path",
    "004-files-delete-recursive",
    "004-files-stat-parameters",
    "004-files-stat-path",
)
@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        ("read", {"path"}),
        ("write", {"path", "content", "encoding", "if_version"}),
        ("list", {"path", "after"}),
        ("grep", {"pattern", "path_pattern"}),
        ("delete", {"path", "recursive", "if_version"}),
        ("stat", {"path"}),
    ],
)
def test_the_parameters_are_those_of_the_specification(function: str, parameters: set[str]) -> None:
    """And those for versions and pages; the same ones are required, with the same defaults."""
    schema = REGISTRY.capabilities[f"session_files.{function}"].spec.schema_in
    assert set(schema["properties"]) == parameters
    assert set(schema.get("required", ())) == parameters & {
        *({"path"} if function != "list" else ()),
        "content",
        "pattern",
    }
    defaults = {"path": "/", "encoding": "text", "recursive": False, "path_pattern": None}
    for name in parameters & set(defaults) - set(schema.get("required", ())):
        assert schema["properties"][name]["default"] == defaults[name]
    if "encoding" in parameters:
        assert schema["properties"]["encoding"]["enum"] == ["text", "base64"]


@pytest.mark.process
def test_registering_loads_no_database_library() -> None:
    """Every command registers it, and most never open the store."""
    code = (
        "import sys; from caps.providers.builtin import builtin_registry; builtin_registry();"
        "print(sorted({'sqlalchemy', 'alembic', 'psycopg', 're2', 'greenlet'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_memory_of_versions_is_bounded() -> None:
    """What was seen first is forgotten first; a forgotten version is not known."""
    seen = SeenVersions(capacity=2)
    keys = [("e", "s", path) for path in ("/a", "/b", "/c")]
    for number, key in enumerate(keys):
        seen.put(key, number)
    assert [seen.get(key) for key in keys] == [None, 1, 2]
    seen.forget(keys[1])
    seen.forget(keys[1])
    assert seen.get(keys[1]) is None
