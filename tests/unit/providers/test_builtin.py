"""The registry as it is shipped."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from caps.capabilities.provider import CallContext, ProviderError, Scope
from caps.capabilities.registry import CapabilityRegistry
from caps.providers.builtin import builtin_registry
from caps.providers.files import FilesScope
from caps.providers.secrets import SecretsScope
from caps.providers.session_files import SessionFilesScope
from caps.providers.web import WebScope

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def registry() -> CapabilityRegistry:
    """Built once; nothing here changes it."""
    return builtin_registry()


async def called(registry: CapabilityRegistry, name: str, payload: Any, scope: Scope | None) -> Any:
    """The answer of the provider of `name`; payload and answer are checked by their schemas."""
    entry = registry.capabilities[name]
    context = CallContext(
        execution_id="e1",
        request_id="r1",
        capability=name,
        principal="tester",
        agent=None,
        session=None,
        scope=scope,
        timeout_ms=1000,
    )
    assert entry.schema_in.problems(payload) == ()
    answer = entry.provider(context, payload)
    if inspect.isawaitable(answer):
        answer = await answer
    assert entry.schema_out.problems(answer) == ()
    return answer


def test_what_exists_is_a_closed_list(registry: CapabilityRegistry) -> None:
    """The domains, and those of them that must be given a scope."""
    assert {name: domain.scope for name, domain in registry.domains.items()} == {
        "artifacts": None,
        "files": FilesScope,
        "math": None,
        "notify": None,
        "research": None,
        "sandbox": None,
        "secrets": SecretsScope,
        "session_files": SessionFilesScope,
        "test_weather": None,
        "time": None,
        "todos": None,
        "web": WebScope,
    }


def test_every_function_is_a_tool_of_a_capability(registry: CapabilityRegistry) -> None:
    """No domain is a capability only because nobody bundled it. One function is an injection's."""
    tools = {tool.function for each in registry.known_capabilities() for tool in each.tools}
    assert tools | {"notify.user"} == {spec.name for spec in registry}
    assert "notify.user" not in tools


def test_every_capability_explains_itself(registry: CapabilityRegistry) -> None:
    """A title, a description, and payload fields to show that it really has."""
    for spec in registry:
        assert spec.title
        assert spec.description
        assert set(spec.shown) <= set(spec.schema_in["properties"])
        assert spec.schema_in["additionalProperties"] is False
        assert "context" not in spec.schema_in["properties"]


def test_only_changes_are_not_idempotent(registry: CapabilityRegistry) -> None:
    """A caller may retry everything that only reads or computes."""
    assert {spec.name for spec in registry if not spec.idempotent} == {
        "files.copy",
        "artifacts.save",
        "files.delete",
        "files.move",
        "files.write",
        "notify.user",
        "research.add",
        "research.remove",
        "sandbox.execute_code",
        "session_files.delete",
        "session_files.write",
    }


async def test_files_work_through_the_registry(
    registry: CapabilityRegistry, tmp_path: Path
) -> None:
    """Each function answers what its schema promises."""
    scope = FilesScope.model_validate({"allowlist": [str(tmp_path)]})
    written = await called(registry, "files.write", {"path": "a/b", "content": "x"}, scope)
    assert written == {"path": "a/b", "size_bytes": 1, "created": True}
    assert (await called(registry, "files.read", {"path": "a/b"}, scope))["content"] == "x"
    assert (await called(registry, "files.list", {}, scope))["count"] == 1
    assert (await called(registry, "files.stat", {"path": "a/b"}, scope))["exists"]
    assert not (await called(registry, "files.stat", {"path": "c"}, scope))["exists"]
    gone = await called(registry, "files.delete", {"path": "a", "recursive": True}, scope)
    assert gone == {"path": "a", "deleted": True}


@pytest.mark.parametrize("how", ["iso8601", "unix", "human"])
async def test_time_works_through_the_registry(registry: CapabilityRegistry, how: str) -> None:
    """Each format fits the schema."""
    payload = {"timezone": "Europe/Paris", "format": how}
    assert (await called(registry, "time.now", payload, None))["format"] == how


async def test_math_keeps_its_kinds_through_the_registry(registry: CapabilityRegistry) -> None:
    """Converting the payload does not turn integers into floats, nor floats into integers."""
    whole = (await called(registry, "math.add", {"a": 2**63, "b": 1}, None))["result"]
    assert (whole, type(whole)) == (2**63 + 1, int)
    part = (await called(registry, "math.add", {"a": 1.0, "b": 1}, None))["result"]
    assert (part, type(part)) == (2.0, float)
    with pytest.raises(ProviderError, match="division by zero"):
        await called(registry, "math.divide", {"a": 1, "b": 0}, None)


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("files.read", {}),
        ("files.read", {"path": 5}),
        ("files.read", {"path": "x" * 4097}),
        ("files.write", {"path": "x", "content": "y", "encoding": "zip"}),
        ("files.delete", {"path": "x", "recursive": "yes"}),
        ("files.list", {"path": ".", "follow": True}),
        ("session_files.read", {"path": "/" + "x" * 4096}),
        ("session_files.write", {"path": "/x", "content": "y", "if_version": -1}),
        ("session_files.write", {"path": "/x", "content": "y", "if_version": True}),
        ("session_files.grep", {"pattern": ""}),
        ("time.now", {"timezone": "x" * 65}),
        ("time.now", {"format": "rfc822"}),
        ("math.add", {"a": True, "b": 1}),
        ("math.add", {"a": "1", "b": 1}),
        ("math.add", {"a": 1}),
        ("web.fetch", {"url": "https://a.org", "method": "POST"}),
        ("web.fetch", {"url": "https://a.org", "headers": {"a": 1}}),
        ("web.fetch", {"url": "https://a.org/" + "x" * 8192}),
        ("web.fetch", {"method": "GET"}),
        ("secrets.handle", {"name": "Not A Name"}),
    ],
)
def test_a_payload_that_does_not_fit_is_refused_by_the_schema(
    registry: CapabilityRegistry, name: str, payload: dict[str, Any]
) -> None:
    """Wrong types, unknown keys and missing ones never reach a provider."""
    assert registry.capabilities[name].schema_in.problems(payload) != ()
