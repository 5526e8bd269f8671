"""The capability `web_fetch`, as agents are given it."""

from __future__ import annotations

import pytest

from caps import builtin_registry
from caps.capabilities.catalogue.capability import CapabilityStatus
from caps.protocol.errors import AgentInvalidError


@pytest.mark.spec("004-web-status")
@pytest.mark.spec("004-web-id")
@pytest.mark.spec("004-web-prompt")
@pytest.mark.spec("004-web-tools")
@pytest.mark.spec("004-web-icon")
@pytest.mark.spec("004-web-category")
@pytest.mark.spec("004-web-no-prompt")
def test_the_capability_of_the_specification() -> None:
    """Its words, its tool, and no prompt."""
    known = {each.key: each for each in builtin_registry(plugins="off").known_capabilities()}
    one = known["web_fetch"]
    assert (one.name, one.status, one.icon, one.category) == (
        "Web Fetch",
        CapabilityStatus.AVAILABLE,
        "globe",
        "Network",
    )
    assert one.description == (
        "Fetch content from URLs and convert HTML responses to markdown or plain text."
    )
    assert one.system_prompt is None
    assert [(tool.key, tool.function) for tool in one.tools] == [("web_fetch", "web.fetch")]


@pytest.mark.spec("004-web-self-documenting")
@pytest.mark.spec("004-web-discover")
@pytest.mark.spec("004-web-parameters")
@pytest.mark.spec("004-web-method")
@pytest.mark.spec("004-web-policy")
def test_the_tool_documents_itself() -> None:
    """Every parameter has a description, and the words of the specification; nobody is asked."""
    agent = builtin_registry(plugins="off").resolve(["web_fetch"]).runtime_agent("Base.")
    (tool,) = agent.tools
    assert tool.schema is not None
    properties = tool.schema["properties"]
    assert list(properties) == ["url", "method", "as_markdown", "as_text", "headers"]
    assert all(each["description"] for each in properties.values())
    assert properties["method"]["enum"] == ["GET", "HEAD"]
    assert properties["method"]["default"] == "GET"
    assert tool.schema["required"] == ["url"]
    assert agent.system_prompt == "Base."
    assert agent.policy.approve == ()


def test_the_hosts_of_an_agent() -> None:
    """Every public one, unless its object names some."""
    registry = builtin_registry(plugins="off")
    assert registry.resolve(["web_fetch"]).policy.scopes["web"] == {"hosts": ["*"]}
    named = registry.resolve({"web_fetch": {"hosts": ["Docs.Python.org"]}})
    assert named.policy.scopes["web"] == {"hosts": ["docs.python.org"]}
    with pytest.raises(AgentInvalidError):
        registry.resolve({"web_fetch": {"hosts": ["http://a.org"]}})


def test_the_secrets_of_an_agent() -> None:
    """By name, each with its hosts."""
    registry = builtin_registry(plugins="off")
    resolved = registry.resolve({"secrets": {"hosts": {"github": ["api.github.com"]}}})
    assert resolved.policy.scopes["secrets"] == {"github": {"hosts": ["api.github.com"]}}
    with pytest.raises(AgentInvalidError):
        registry.resolve({"secrets": {}})
