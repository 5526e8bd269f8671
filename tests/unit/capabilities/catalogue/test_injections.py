"""Injections: registered apart, chosen by mode, complete without any agent."""

from __future__ import annotations

from typing import Any

import pytest

from caps import (
    AgentInvalidError,
    Capability,
    CapabilityConfig,
    CapabilityRegistry,
    CapabilityStatus,
    ConfigurationError,
    ExecutionMode,
    RegistrationError,
    ToolDescriptor,
)
from support.capability_examples import add_functions, value

SILENT = {ExecutionMode.SILENT}


class Needy(CapabilityConfig):
    """A setting that nobody could set."""

    address: str


class Raising(CapabilityConfig):
    """A model that fails in its own way."""

    def model_post_init(self, _context: Any, /) -> None:
        raise KeyError("secret")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"depends_on": ("memory",)}, "injection `notify` cannot depend on capabilities"),
        (
            {"status": CapabilityStatus.COMING_SOON},
            "injection `notify` cannot be `coming_soon`",
        ),
        (
            {"config_model": Needy},
            "injection `notify` requires the setting `address`, which nobody can set",
        ),
        (
            {"config_model": Raising},
            "injection `notify` has no valid default settings: its model failed with `KeyError`",
        ),
    ],
)
def test_an_injection_is_complete_by_itself(fields: dict[str, Any], said: str) -> None:
    """Nothing of an agent's object could complete it."""
    with pytest.raises(RegistrationError) as raised:
        CapabilityRegistry().register_injection(Capability("notify", **fields), modes=SILENT)
    assert str(raised.value) == said


@pytest.mark.parametrize("modes", [(), None, "silent", ["silent"], [None]])
def test_modes_are_a_set_of_known_ones(modes: Any) -> None:
    """A word that is no mode would never be chosen."""
    with pytest.raises(RegistrationError, match="mode"):
        CapabilityRegistry().register_injection(Capability("notify"), modes=modes)


def test_a_key_is_a_capability_or_an_injection() -> None:
    """If it were both, an agent could list it."""
    registry = CapabilityRegistry()
    registry.register_injection(Capability("notify"), modes=SILENT)
    with pytest.raises(RegistrationError, match="registered already, as an injection"):
        registry.register(Capability("notify"))
    registry.register(Capability("memory"))
    with pytest.raises(RegistrationError, match="`memory` is registered already"):
        registry.register_injection(Capability("memory"), modes=SILENT)


def test_the_functions_of_an_injection_are_no_tools_of_their_domain() -> None:
    """Otherwise an agent could list the domain."""
    registry = CapabilityRegistry()
    add_functions(registry, "user.notify", "user.profile", "alarm.ring")
    tools = tuple(
        ToolDescriptor(each.replace(".", "_"), function=each)
        for each in ("user.notify", "alarm.ring")
    )
    registry.register_injection(Capability("notify", tools=tools), modes=SILENT)
    (known,) = registry.known_capabilities()
    assert (known.key, [tool.key for tool in known.tools]) == ("user", ["profile"])


def test_a_clash_with_an_injected_tool_names_both() -> None:
    """The place is that of the agent's own capability, which can be changed."""
    registry = CapabilityRegistry()
    add_functions(registry, "mail.send", "notify.send")
    registry.register_injection(value("notify", "send"), modes=SILENT)
    with pytest.raises(AgentInvalidError, match=r"`mail` and `notify` .* at `capabilities\.mail`"):
        registry.resolve({"mail": {}}, mode=ExecutionMode.SILENT)
    resolved = registry.resolve({"mail": {"prefix": "mail_"}}, mode=ExecutionMode.SILENT)
    assert [tool.key for tool in resolved.tools] == ["mail_send", "send"]


@pytest.mark.parametrize("mode", ["silent", "loud", 1, True])
def test_a_mode_is_one_of_the_known(mode: Any) -> None:
    """A misspelt one would leave injections out."""
    with pytest.raises(ConfigurationError, match="mode must be an `ExecutionMode`, not"):
        CapabilityRegistry().resolve({}, mode=mode)


def test_an_injection_may_skip() -> None:
    """As a capability may; it is not among what the agent lacks."""
    registry = CapabilityRegistry()
    skipping = Capability("notify", resolver=lambda _ctx, _config: None)
    registry.register_injection(skipping, modes=SILENT)
    resolved = registry.resolve([], mode=ExecutionMode.SILENT)
    assert (resolved.skipped, resolved.versions) == ((), {})
