"""Each sentence of specification 000 that can be tested, named by the test that holds it."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field, create_model

from caps import (
    AgentInvalidError,
    Capability,
    CapabilityConfig,
    CapabilityRegistry,
    ExecutionMode,
    MemoryAuditLog,
    ResolvedCapability,
    ResolvedConfig,
    ResolverContext,
    Runtime,
    ToolDescriptor,
    builtin_registry,
)
from support.capability_examples import Audio, add_functions, example_registry, value

# The example of the specification, as it is there.
AGENT = json.loads("""{
  "capabilities": {
    "memory": {},
    "history": {},
    "tasks": {},
    "audio": { "tools": ["transcribe"] },
    "files": { "dirs": ["/data/reports"], "tools": ["read_file"] }
  }
}""")["capabilities"]


@pytest.mark.spec("000-resolve")
@pytest.mark.spec("000-resolve-each")
def test_the_example_resolves_to_exactly_its_tools_and_their_policy() -> None:
    """Functions of the listed tools are allowed, under the scope of the settings; no others are."""
    resolved = example_registry().resolve(AGENT, ResolverContext())
    assert [tool.key for tool in resolved.tools] == [
        "search_memory",
        "add_memory",
        "search_history",
        "add_history",
        "search_tasks",
        "add_tasks",
        "transcribe",
        "read_file",
    ]
    assert set(resolved.policy.allow) == {tool.function for tool in resolved.tools}
    assert resolved.policy.scopes == {"files": {"allowlist": ["/data/reports"]}}
    assert resolved.policy.deny == ()


@pytest.mark.spec("000-filter")
@pytest.mark.spec("000-filter-example")
def test_a_tools_array_restricts_what_is_exposed() -> None:
    """The other tools of the capability are filtered out everywhere."""
    resolved = example_registry().resolve({"audio": {"tools": ["transcribe"]}})
    assert [tool.key for tool in resolved.tools] == ["transcribe"]
    assert resolved.policy.allow == ("audio.transcribe",)
    assert resolved.mcp_servers["audio"]["tools"] == ["transcribe"]


@pytest.mark.spec("000-filter-omitted")
def test_without_a_tools_array_all_tools_are_available() -> None:
    """An empty one exposes none."""
    registry = example_registry()
    assert registry.resolve({"audio": {}}).policy.allow == ("audio.speak", "audio.transcribe")
    assert registry.resolve({"audio": {"tools": []}}).policy.allow == ()


@pytest.mark.spec("000-filter-allowlist")
@pytest.mark.parametrize("tool", ["*", "trans*", "audio.*", "?", "!speak"])
def test_there_are_no_wildcards(tool: str) -> None:
    """Each tool is named in full."""
    with pytest.raises(AgentInvalidError, match="has no tool"):
        example_registry().resolve({"audio": {"tools": [tool]}})


@pytest.mark.spec("000-filter-allowlist")
@pytest.mark.parametrize("key", ["disallowedTools", "disallowed_tools", "deny"])
def test_there_is_no_list_of_disallowed_tools(key: str) -> None:
    """It is an unknown setting."""
    with pytest.raises(AgentInvalidError, match=f"capability `audio`: has no setting `{key}`"):
        example_registry().resolve({"audio": {key: ["speak"]}})


class ReportsConfig(CapabilityConfig):
    """What a capability declares."""

    dirs: tuple[str, ...]
    depth: int = 3


@pytest.mark.spec("000-config-schema")
@pytest.mark.spec("000-config-declared")
def test_a_capability_declares_the_settings_that_it_accepts() -> None:
    """As a model, of which the JSON Schema is listed; what it does not have is an error."""
    registry = CapabilityRegistry()
    registry.register(Capability("reports", config_model=ReportsConfig))
    (known,) = registry.known_capabilities()
    assert known.config_schema is not None
    assert list(known.config_schema["properties"]) == ["dirs", "depth"]
    assert known.config_schema["required"] == ["dirs"]
    for settings in ({}, {"dirs": 3}, {"dirs": [], "depht": 1}, {"dirs": [], "depth": "3"}):
        with pytest.raises(AgentInvalidError, match="capability `reports`: "):
            registry.resolve({"reports": settings})


@pytest.mark.spec("000-config-stripped")
@pytest.mark.spec("000-config-example")
@pytest.mark.spec("000-config-filtering")
@pytest.mark.spec("000-config-resolved")
@pytest.mark.spec("000-tools-reserved")
def test_tools_are_handed_over_resolved_and_never_as_settings() -> None:
    """The settings are those of the capability alone."""
    registry, seen = CapabilityRegistry(), []
    tools = (ToolDescriptor("read_file"), ToolDescriptor("write_file"))

    @registry.resolver("reports", tools=tools, config_model=ReportsConfig)
    def resolve(ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:
        seen.append(config)
        return ResolvedCapability()

    add_functions(registry, "reports.read_file", "reports.write_file")
    registry.resolve({"reports": {"dirs": ["/data/reports"], "tools": ["read_file"]}})
    (config,) = seen
    assert config.settings.model_dump(exclude_unset=True) == {"dirs": ("/data/reports",)}
    assert config.settings_as(ReportsConfig).depth == 3
    assert config.tools == ("read_file",)


@pytest.mark.spec("000-tools-reserved")
@pytest.mark.parametrize("field", ["tools", "prefix"])
def test_settings_cannot_have_a_reserved_key(field: str) -> None:
    """Neither by name nor by alias; a JSON Schema therefore never has it."""
    make: Any = create_model
    fields = ({field: (int, 1)}, {"x": (int, Field(1, alias=field))})
    for model in (make("Settings", __base__=CapabilityConfig, **each) for each in fields):
        with pytest.raises(Exception, match=f"has a field `{field}`, which is reserved"):
            CapabilityRegistry().register(Capability("box", config_model=model))


@pytest.mark.spec("000-resolver")
def test_a_resolver_has_a_key_and_resolves() -> None:
    """What it returns is in the result under its key."""
    registry = CapabilityRegistry()

    @registry.resolver("browser", tools=(ToolDescriptor("open"),))
    def resolve(ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:
        return ResolvedCapability(mcp_server={"command": "npx", "args": ["@playwright/mcp"]})

    resolved = registry.resolve({"browser": {}})
    assert resolved.mcp_servers == {"browser": {"command": "npx", "args": ["@playwright/mcp"]}}
    with pytest.raises(Exception, match="capability `browser` is registered already"):
        registry.register(Capability("browser"))


@pytest.mark.spec("000-tool-descriptor")
@pytest.mark.spec("000-resolver-tools")
def test_a_capability_declares_its_complete_set_of_tools() -> None:
    """Each with key, name and description; nothing else can be asked for."""
    known = {each.key: each for each in example_registry().known_capabilities()}
    transcribe = known["audio"].tools[0]
    assert (transcribe.key, transcribe.name, transcribe.description) == (
        "transcribe",
        "Transcribe Audio",
        "The text of a recording.",
    )
    assert [tool.key for tool in known["audio"].tools] == ["transcribe", "speak"]


@pytest.mark.spec("000-resolver-purposes")
@pytest.mark.spec("000-validation")
@pytest.mark.spec("000-validation-unknown")
def test_unknown_tool_names_are_an_error() -> None:
    """It names the capability, the tool, the place and the nearest tool; no resolver is called."""
    audio = Audio()
    with pytest.raises(AgentInvalidError) as raised:
        example_registry(audio).resolve({"audio": {"tools": ["speak", "transcibe"]}})
    assert str(raised.value) == (
        "capability `audio`: has no tool `transcibe` at `capabilities.audio.tools[1]`; "
        "did you mean `transcribe`?"
    )
    assert audio.calls == []


@pytest.mark.spec("000-resolver-purposes")
@pytest.mark.spec("000-discovery")
@pytest.mark.spec("000-registry-interface")
def test_all_tools_are_listed_without_starting_anything() -> None:
    """No resolver is called, so no server can have been started."""
    audio = Audio()
    registry = example_registry(audio)
    listed = {each.key: [tool.key for tool in each.tools] for each in registry.known_capabilities()}
    assert listed["audio"] == ["transcribe", "speak"]
    assert listed["files"][0] == "read_file"
    assert audio.calls == []


@pytest.mark.spec("000-tools-resolved")
@pytest.mark.spec("000-tools-received")
@pytest.mark.parametrize(
    ("entry", "tools"),
    [({}, ("transcribe", "speak")), ({"tools": ["speak"]}, ("speak",)), ({"tools": []}, ())],
)
def test_the_resolver_receives_the_resolved_tools(entry: Any, tools: tuple[str, ...]) -> None:
    """Validated before, and all of them if the agent lists none."""
    audio = Audio()
    resolved = example_registry(audio).resolve({"audio": entry})
    assert [config.tools for _, config in audio.calls] == [tools]
    assert resolved.mcp_servers["audio"]["tools"] == list(tools)


@pytest.mark.spec("000-resolve-servers")
def test_a_resolver_that_ignores_the_filter_exposes_no_more() -> None:
    """Tools and policy are the registry's; they do not depend on what a resolver does."""
    registry = CapabilityRegistry()
    add_functions(registry, "audio.transcribe", "audio.speak")

    @registry.resolver("audio", tools=Audio.tools)
    def careless(ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:
        return ResolvedCapability()

    resolved = registry.resolve({"audio": {"tools": ["transcribe"]}})
    assert [tool.key for tool in resolved.tools] == ["transcribe"]
    assert resolved.policy.allow == ("audio.transcribe",)


@pytest.mark.spec("000-skip")
def test_a_resolver_may_skip() -> None:
    """Then nothing of the capability is in the result, and the result says so."""
    registry = example_registry()
    fields: Any = {"system_prompt": "You can print.", "resolver": lambda _ctx, _config: None}
    registry.register(value("printer", "print", **fields))
    resolved = registry.resolve({"printer": {}, "memory": {"tools": ["add_memory"]}})
    assert resolved.skipped == ("printer",)
    assert [tool.key for tool in resolved.tools] == ["add_memory"]
    assert (resolved.prompt_additions, "printer" in resolved.versions) == ((), False)


@pytest.mark.spec("000-context")
@pytest.mark.spec("000-context-fields")
@pytest.mark.spec("000-context-interface")
@pytest.mark.spec("000-no-channel")
@pytest.mark.spec("000-channel-agnostic")
def test_all_resolvers_receive_the_same_context_without_a_channel() -> None:
    """The five fields of the specification, and no other; it is the caller's own object."""
    assert ResolverContext.__struct_fields__ == (
        "agent_dir",
        "workspace_dir",
        "thread",
        "callbacks",
        "agent",
    )
    one, two = Audio(), Audio()
    two.key, two.tools = "voice", ()
    registry = example_registry(one)
    registry.register(two)
    ctx = ResolverContext(agent_dir="/a", thread={"id": "t1"}, agent={"name": "Ada"})
    registry.resolve({"audio": {}, "voice": {}}, ctx)
    assert one.calls[0][0] is two.calls[0][0] is ctx
    with pytest.raises(TypeError, match="channel"):
        ResolverContext(channel="telegram")  # type: ignore[call-arg]
    assert list(inspect.signature(Capability.resolve).parameters) == ["self", "ctx", "config"]


@pytest.mark.spec("000-resolve-unknown")
def test_unknown_capabilities_are_an_error() -> None:
    """It names the nearest one, and no resolver is called."""
    audio = Audio()
    with pytest.raises(AgentInvalidError) as raised:
        example_registry(audio).resolve({"audio": {}, "memmory": {}})
    assert str(raised.value) == (
        "there is no capability `memmory` at `capabilities.memmory`; did you mean `memory`?"
    )
    assert audio.calls == []


def with_injection() -> CapabilityRegistry:
    registry = example_registry()
    add_functions(registry, "tell_user.notify")
    notify = value("tell_user", "notify", system_prompt="Tell the user what matters.")
    registry.register_injection(notify, modes={ExecutionMode.SILENT})
    return registry


@pytest.mark.spec("000-injections")
@pytest.mark.spec("000-injections-wired")
def test_the_mode_of_an_execution_decides_about_injections() -> None:
    """An agent gets them by the mode alone, also with an empty object."""
    registry = with_injection()
    agents: list[dict[str, Any]] = [{}, {"memory": {}}]
    for agent in agents:
        silent = registry.resolve(agent, mode=ExecutionMode.SILENT)
        assert "tell_user.notify" in silent.policy.allow
        other = registry.resolve(agent)
        assert "tell_user.notify" not in other.policy.allow


@pytest.mark.spec("000-injections-wired")
@pytest.mark.spec("000-injections-apart")
def test_an_injection_is_in_no_agent_and_in_no_list() -> None:
    """Its key is refused, whatever the entry says: it cannot be switched on, off or filtered."""
    registry = with_injection()
    assert "tell_user" not in [each.key for each in registry.known_capabilities()]
    agents: list[Any] = [["tell_user"], {"tell_user": {"tools": []}}]
    for agent in agents:
        with pytest.raises(AgentInvalidError, match="the mode of an execution adds it"):
            registry.resolve(agent, mode=ExecutionMode.SILENT)


@pytest.mark.spec("000-injections-after")
@pytest.mark.spec("000-injections-apart")
def test_injections_are_added_after_the_capabilities() -> None:
    """By the same code: tools, prompt and policy, in the same result."""
    resolved = with_injection().resolve({"audio": {}}, mode=ExecutionMode.SILENT)
    assert [tool.key for tool in resolved.tools] == ["transcribe", "speak", "notify_user", "notify"]
    first, _built_in, last = resolved.prompt_additions
    assert (first, last) == ("You can listen.", "Tell the user what matters.")


@pytest.mark.spec("000-listed")
@pytest.mark.spec("000-not-implicit")
@pytest.mark.parametrize("agent", [{}, []])
def test_an_agent_that_lists_nothing_has_nothing(agent: Any) -> None:
    """Whatever is registered."""
    resolved = example_registry().resolve(agent)
    assert (resolved.tools, resolved.mcp_servers, resolved.prompt_additions) == ((), {}, ())
    assert resolved.policy.allow == ()


@pytest.mark.spec("000-not-implicit")
def test_a_dependency_is_not_included_by_itself() -> None:
    """The error says what to add."""
    registry = example_registry()
    registry.register(value("diary", depends_on=("memory",)))
    with pytest.raises(AgentInvalidError, match="depends on `memory`, which is not listed"):
        registry.resolve({"diary": {}})
    assert registry.resolve({"diary": {}, "memory": {}}).skipped == ()


@pytest.mark.process
@pytest.mark.spec("000-security")
@pytest.mark.spec("000-no-trust-layer")
@pytest.mark.anyio
async def test_an_agents_object_is_what_its_code_may_do(tmp_path: Path) -> None:
    """The policy that it amounts to is enforced by the broker; nothing else is set anywhere."""
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "q3.txt").write_text("good")
    (tmp_path / "secret.txt").write_text("no")
    registry = builtin_registry(plugins="off")
    agent = {"files": {"dirs": ["reports"], "tools": ["read_file"]}}
    resolved = registry.resolve(agent, ResolverContext(workspace_dir=str(tmp_path)))
    async with Runtime(resolved.policy, registry=registry, audit=MemoryAuditLog()) as runtime:
        read = await runtime.run("(await caps.files.read('q3.txt')).content")
        outside = await runtime.run(f"await caps.files.read({str(tmp_path / 'secret.txt')!r})")
        write = await runtime.run("await caps.files.write('q3.txt', 'bad')")
        names = await runtime.run("[hasattr(caps, 'time'), dir(caps.files)]")
    assert (read.value, names.value) == ("good", [False, ["read"]])
    for refused in (outside, write):
        assert refused.error is not None
        assert refused.error.code == "policy_denied"


@pytest.mark.spec("000-automatic")
@pytest.mark.spec("000-no-changes")
def test_what_is_registered_can_be_given_to_an_agent() -> None:
    """As a class, a value or by a decorator; a domain of functions needs not even that."""
    registry = CapabilityRegistry()

    @registry.register
    class One(Capability):
        key = "one"

    registry.register(Capability("two"))

    @registry.resolver("three")
    def resolve(ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:
        return ResolvedCapability()

    add_functions(registry, "four.run")
    assert [each.key for each in registry.known_capabilities()] == ["four", "one", "three", "two"]
    resolved = registry.resolve(["one", "two", "three", "four"])
    assert list(resolved.versions) == ["one", "two", "three", "four"]
    assert resolved.policy.allow == ("four.run",)
    assert One.key == "one"
