"""Each sentence of specification 004 that is built, named by the test that holds it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from caps import (
    AgentInvalidError,
    Capability,
    CapabilityConfig,
    CapabilityRegistry,
    CapabilityStatus,
    MemoryAuditLog,
    RegistrationError,
    ResolvedCapability,
    ResolvedConfig,
    ResolverContext,
    Runtime,
    builtin_registry,
)
from caps.capabilities.catalogue.declaration import listing
from support.capability_examples import add_functions, value


def documented(registry: CapabilityRegistry) -> dict[str, dict[str, Any]]:
    """The document of all capabilities, by their ids, as it is after a trip through JSON."""
    document = json.loads(json.dumps(listing(registry.known_capabilities())))
    assert document["total"] == len(document["items"])
    return {item["id"]: item for item in document["items"]}


@pytest.mark.spec("004-id")
@pytest.mark.spec("004-name")
@pytest.mark.spec("004-description")
@pytest.mark.spec("004-status")
@pytest.mark.spec("004-icon")
@pytest.mark.spec("004-category")
@pytest.mark.spec("004-dto")
def test_a_capability_has_the_fields_of_the_document() -> None:
    """As declared, and with JSON types only."""
    registry = CapabilityRegistry()
    registry.register(
        Capability(
            "research",
            name="Research",
            description="Deep research capability with organized scratchpad.",
            status=CapabilityStatus.COMING_SOON,
            icon="search",
            category="AI",
        )
    )
    item = documented(registry)["research"]
    assert list(item)[:6] == ["id", "name", "description", "status", "icon", "category"]
    assert list(item.values())[:6] == [
        "research",
        "Research",
        "Deep research capability with organized scratchpad.",
        "coming_soon",
        "search",
        "AI",
    ]


@pytest.mark.spec("004-id")
@pytest.mark.spec("004-id-string")
@pytest.mark.parametrize("key", ["noop", "current_time", "agent-management", "x" * 50])
def test_an_id_is_a_string_of_its_own(key: str) -> None:
    """It is registered once."""
    registry = CapabilityRegistry()
    registry.register(Capability(key))
    assert list(documented(registry)) == [key]
    with pytest.raises(RegistrationError, match="is registered already"):
        registry.register(Capability(key))


@pytest.mark.spec("004-id-added")
@pytest.mark.spec("004-registry")
def test_a_new_capability_is_registered_and_nothing_else_changes() -> None:
    """The registry is the only place that holds it."""
    registry = CapabilityRegistry()
    with pytest.raises(AgentInvalidError, match="there is no capability `my_new_capability`"):
        registry.resolve(["my_new_capability"])
    registry.register(Capability("my_new_capability"))
    assert list(registry.resolve(["my_new_capability"]).versions) == ["my_new_capability"]


@pytest.mark.spec("004-statuses")
@pytest.mark.spec("004-status")
def test_the_status_decides_who_can_have_it() -> None:
    """Available: yes. Coming soon: not yet. Deprecated: yes, with a warning."""
    assert [str(status) for status in CapabilityStatus] == [
        "available",
        "coming_soon",
        "deprecated",
    ]
    registry = CapabilityRegistry()
    for status in CapabilityStatus:
        registry.register(Capability(str(status), status=status))
    assert registry.resolve(["available"]).warnings == ()
    assert registry.resolve(["deprecated"]).warnings == ("capability `deprecated` is deprecated",)
    with pytest.raises(AgentInvalidError) as raised:
        registry.resolve(["available", "coming_soon"])
    assert str(raised.value) == (
        "capability `coming_soon` is coming soon and cannot be given to an agent yet at "
        "`capabilities[1]`"
    )


@pytest.mark.spec("004-trait")
@pytest.mark.spec("004-defaults")
def test_a_capability_is_a_class_with_defaults() -> None:
    """No prompt, no tools, no icon and no category, unless it says so."""

    class MyNewCapability(Capability):
        key = "my_new_capability"
        name = "My New Capability"
        description = "Description here"

    registry = CapabilityRegistry()
    registry.register(MyNewCapability)
    (known,) = registry.known_capabilities()
    assert (known.name, known.description, known.status) == (
        "My New Capability",
        "Description here",
        CapabilityStatus.AVAILABLE,
    )
    assert (known.system_prompt, known.tools, known.icon, known.category) == (None, (), None, None)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Agents and their capabilities, with the columns of the specification."""
    connection = sqlite3.connect(tmp_path / "agents.db")
    connection.executescript("""
        CREATE TABLE agents (id TEXT PRIMARY KEY, system_prompt TEXT NOT NULL);
        CREATE TABLE agent_capabilities (
            agent_id TEXT NOT NULL, capability_id VARCHAR(50) NOT NULL, position INTEGER NOT NULL,
            UNIQUE(agent_id, capability_id));
        INSERT INTO agents VALUES ('a1', 'You are a helpful research assistant.');
        INSERT INTO agent_capabilities VALUES ('a1', 'test_math', 1), ('a1', 'test_weather', 0);
    """)
    yield connection
    connection.close()


MATH_PROMPT = (
    "You have access to math tools. Use them for calculations: add, subtract, multiply, divide."
)
WEATHER_PROMPT = (
    "You have access to weather tools. Use get_weather for current conditions and get_forecast "
    "for multi-day forecasts."
)


@pytest.mark.process
@pytest.mark.anyio
@pytest.mark.spec("004-flow")
@pytest.mark.spec("004-flow-load")
@pytest.mark.spec("004-flow-fetch")
@pytest.mark.spec("004-flow-resolve")
@pytest.mark.spec("004-flow-build")
@pytest.mark.spec("004-flow-execute")
async def test_the_flow_from_a_stored_agent_to_its_execution(
    database: sqlite3.Connection,
) -> None:
    """Loaded, ordered by position, resolved, built, and run under the policy that follows."""
    (base,) = database.execute("SELECT system_prompt FROM agents WHERE id = 'a1'").fetchone()
    rows = database.execute(
        "SELECT capability_id FROM agent_capabilities WHERE agent_id = 'a1' ORDER BY position"
    )
    registry = builtin_registry(plugins="off")
    agent = registry.resolve([key for (key,) in rows]).runtime_agent(base)
    assert agent.system_prompt == (
        f"{WEATHER_PROMPT}\n\n{MATH_PROMPT}\n\nYou are a helpful research assistant."
    )
    async with Runtime(agent.policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        result = await runtime.run("[(await caps.math.add(2, 3)).result, dir(caps.math)]")
    assert result.value == [5, ["add", "divide", "multiply", "subtract"]]


@pytest.mark.spec("004-flow-lookup")
@pytest.mark.spec("004-flow-prompts")
@pytest.mark.spec("004-flow-prompt")
@pytest.mark.parametrize("order", [["test_weather", "test_math"], ["test_math", "test_weather"]])
def test_prompt_additions_come_first_and_by_position(order: list[str]) -> None:
    """Then the agent's own prompt. One without an addition leaves no gap."""
    prompts = {
        "test_weather": WEATHER_PROMPT,
        "test_math": MATH_PROMPT,
    }
    registry = builtin_registry(plugins="off")
    resolved = registry.resolve(["noop", *order])
    assert list(resolved.prompt_additions) == [prompts[key] for key in order]
    built = resolved.runtime_agent("Be brief.").system_prompt
    assert built == "\n\n".join([*resolved.prompt_additions, "Be brief."])
    assert registry.resolve([]).runtime_agent("Be brief.").system_prompt == "Be brief."


@pytest.mark.spec("004-flow-tools")
@pytest.mark.spec("004-flow-merged")
def test_the_tools_of_all_capabilities_are_one_list() -> None:
    """By position, with names, descriptions and the schema of their arguments."""
    agent = builtin_registry(plugins="off").resolve(["test_math", "current_time"]).runtime_agent("")
    assert [tool.key for tool in agent.tools] == [
        "add",
        "subtract",
        "multiply",
        "divide",
        "get_current_time",
    ]
    assert [tool.function for tool in agent.tools][3:] == ["math.divide", "time.now"]
    schema = agent.tools[0].schema
    assert schema is not None
    assert list(schema["properties"]) == ["a", "b"]


@pytest.mark.spec("004-custom")
def test_a_user_defines_capabilities_with_tools_of_their_own() -> None:
    """The function and the capability that offers it, in one registry."""
    registry = CapabilityRegistry()

    @registry.capability("inventory.lookup")
    async def lookup(sku: str) -> list[str]:
        """What is in stock."""
        return [sku]

    registry.register(value("inventory", "lookup"))
    (tool,) = registry.resolve({"inventory": {}}).tools
    assert (tool.key, tool.capability, tool.function) == (
        "lookup",
        "inventory",
        "inventory.lookup",
    )


@pytest.mark.spec("004-composition")
def test_dependencies_are_resolved_first() -> None:
    """The result keeps the agent's order."""
    registry, called = CapabilityRegistry(), []

    def recorder(key: str) -> Any:
        def resolve(ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:
            called.append(key)
            return ResolvedCapability()

        return resolve

    for key, needs in {"a": ("c", "b"), "b": ("d",), "c": (), "d": ("c",)}.items():
        registry.register(
            Capability(key, depends_on=needs, resolver=recorder(key), system_prompt=key)
        )
    resolved = registry.resolve(["a", "b", "c", "d"])
    assert called == ["c", "d", "b", "a"]
    assert resolved.prompt_additions == ("a", "b", "c", "d")


@pytest.mark.spec("004-composition")
def test_a_cycle_of_dependencies_is_refused() -> None:
    """It is named in full, and no resolver is called."""
    registry = CapabilityRegistry()

    def never(ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:
        raise AssertionError

    for key, needs in {"a": "b", "b": "c", "c": "a"}.items():
        registry.register(Capability(key, depends_on=(needs,), resolver=never))
    with pytest.raises(AgentInvalidError) as raised:
        registry.resolve(["a", "b", "c"])
    assert str(raised.value) == (
        "dependencies form a cycle, `a` -> `b` -> `c` -> `a`, at `capabilities[0]`"
    )


class Greeting(CapabilityConfig):
    """One setting."""

    name: str


@pytest.mark.spec("004-configuration")
def test_settings_are_per_agent() -> None:
    """Two agents, two results."""
    registry = CapabilityRegistry()

    @registry.resolver("greeter", config_model=Greeting)
    def resolve(ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:
        return ResolvedCapability(mcp_server={"for": config.settings_as(Greeting).name})

    servers = [
        registry.resolve({"greeter": {"name": name}}).mcp_servers["greeter"]["for"]
        for name in ("Ada", "Grace")
    ]
    assert servers == ["Ada", "Grace"]


@pytest.mark.spec("004-conflicts")
def test_a_clash_of_tool_names_names_both_and_a_prefix_settles_it() -> None:
    """Nothing is overwritten silently."""
    registry = CapabilityRegistry()
    add_functions(registry, "web.search", "notes.search")
    with pytest.raises(AgentInvalidError) as raised:
        registry.resolve({"web": {}, "notes": {}})
    assert str(raised.value) == (
        "capabilities `web` and `notes` both have a tool `search` at `capabilities.notes`; set a "
        "`prefix` for one of them, or leave the tool out of its `tools`"
    )
    resolved = registry.resolve({"web": {}, "notes": {"prefix": "notes_"}})
    assert [tool.key for tool in resolved.tools] == ["search", "notes_search"]
    assert resolved.policy.allow == ("notes.search", "web.search")


@pytest.mark.spec("004-versions")
def test_versions_are_tracked() -> None:
    """In the list, and in what an agent got."""
    registry = CapabilityRegistry()
    registry.register(Capability("audio", version="2.1"))
    (audio,) = registry.known_capabilities()
    assert audio.as_document()["version"] == "2.1"
    assert registry.resolve(["audio"]).versions == {"audio": "2.1"}
