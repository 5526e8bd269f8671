"""Random agents: what resolves grants exactly its tools, and all else is one plain error."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from caps import AgentInvalidError, ResolvedCapabilities, ResolverContext
from support.capability_examples import example_registry

REGISTRY = example_registry()
KNOWN = {each.key: each for each in REGISTRY.known_capabilities()}
NEEDED: dict[str, dict[str, Any]] = {
    "files": {"dirs": ["/data"]},
    "secrets": {"hosts": {"github": ["api.github.com"]}},
}
CONTEXT = ResolverContext(workspace_dir="/work")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
TOOLS = sorted({tool.key for each in KNOWN.values() for tool in each.tools})
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.lists(st.sampled_from(TOOLS) | st.text(max_size=4), max_size=3) | JSON,
        "prefix": st.sampled_from(["a_", "b-"]) | JSON,
        "dirs": st.lists(st.sampled_from(["/data", "x", "~", ""]), max_size=2) | JSON,
        "language": JSON,
        "other": JSON,
    },
)
KEYS = st.sampled_from([*KNOWN, "audoi"]) | st.text(max_size=6)
AGENTS = st.dictionaries(KEYS, ENTRIES | JSON, max_size=4) | st.lists(KEYS, max_size=4) | JSON


@given(AGENTS)
def test_any_object_resolves_or_is_one_line(agent: Any) -> None:
    """No other error, no line break, and nothing that a terminal obeys."""
    found: ResolvedCapabilities | AgentInvalidError
    try:
        found = REGISTRY.resolve(agent, CONTEXT)
    except AgentInvalidError as error:
        found = error
    if isinstance(found, ResolvedCapabilities):
        check(agent, found)
    else:
        assert found.message.isprintable()
        assert found.place.startswith("capabilities")


@st.composite
def valid_agents(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Objects without a mistake; prefixes keep the tools apart."""
    agent: dict[str, dict[str, Any]] = {}
    for key in draw(st.lists(st.sampled_from(sorted(KNOWN)), unique=True)):
        own = [tool.key for tool in KNOWN[key].tools]
        agent[key] = dict(NEEDED.get(key, {}))
        if draw(st.booleans()) and own:
            agent[key]["tools"] = draw(st.lists(st.sampled_from(own), unique=True))
        # Its tools have the names of those of `files`.
        if key == "session_file_system" or draw(st.booleans()):
            agent[key]["prefix"] = f"{key}_"
    return agent


@given(valid_agents())
def test_a_valid_object_grants_exactly_its_tools(agent: dict[str, Any]) -> None:
    """As a naive reading of it says; the policy binds, and nothing of it is withheld."""
    resolved = REGISTRY.resolve(agent, CONTEXT)
    check(agent, resolved)
    assert REGISTRY.bind(resolved.policy).granted == resolved.policy.allow


def check(agent: Any, resolved: ResolvedCapabilities) -> None:
    """The policy against the object, read in the simplest way."""
    entries = agent if isinstance(agent, dict) else {key: {} for key in agent}
    expected = {
        tool.function
        for key, entry in entries.items()
        for tool in KNOWN[key].tools
        if tool.key in entry.get("tools", [each.key for each in KNOWN[key].tools])
    }
    assert set(resolved.policy.allow) == expected
    assert {tool.function for tool in resolved.tools} == expected
    assert set(resolved.policy.scopes) <= {"files", "secrets", "session_files", "web"}
    assert list(resolved.versions) == list(entries)
