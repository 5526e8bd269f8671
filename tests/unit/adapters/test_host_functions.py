"""Functions of the embedding program: their names, their errors, and whose they are."""

from __future__ import annotations

from typing import Any

import pytest

from caps import CallContext, CapabilityRegistry, ConfigurationError, ProviderError
from caps.adapters.host_functions import HostFunctions

pytestmark = pytest.mark.anyio


class Known(Exception):
    """One whose text is meant for the code."""


@pytest.fixture
def registry() -> CapabilityRegistry:
    return CapabilityRegistry()


@pytest.fixture
def host(registry: CapabilityRegistry) -> HostFunctions:
    return HostFunctions(registry, raises=(Known,))


def context(session: str | None) -> CallContext:
    return CallContext(
        execution_id="e1",
        request_id="r1",
        capability="host.call",
        principal="ada",
        agent=None,
        session=session,
        scope=None,
        timeout_ms=1000,
    )


async def called(registry: CapabilityRegistry, session: str | None, function: str) -> Any:
    payload = {"function": function, "args": [1], "kwargs": {"b": 2}}
    return await registry.capabilities["host.call"].provider(context(session), payload)


async def test_what_is_offered_belongs_to_one_session(
    registry: CapabilityRegistry, host: HostFunctions
) -> None:
    """Nobody else can call it, and it ends with the context."""

    async def add(a: int, b: int) -> int:
        return a + b

    with host.offered("s1", {"add": add, "plus": lambda a, b: a + b}):
        assert await called(registry, "s1", "add") == 3
        assert await called(registry, "s1", "plus") == 3
        for session in ("s2", None):
            with pytest.raises(ProviderError, match="there is no such function"):
                await called(registry, session, "add")
        with pytest.raises(ProviderError, match="did you mean `add`"):
            await called(registry, "s1", "addd")
    with pytest.raises(ProviderError, match="there is no such function"):
        await called(registry, "s1", "add")


async def test_the_text_of_known_errors_reaches_the_code(
    registry: CapabilityRegistry, host: HostFunctions
) -> None:
    """With the name of its class."""

    async def fail(*_: Any, **__: Any) -> None:
        raise Known("use another")

    offered, refused = host.offered("s1", {"fail": fail}), pytest.raises(ProviderError)
    with offered, refused as caught:
        await called(registry, "s1", "fail")
    assert "use another" in caught.value.message
    assert caught.value.details["error"] == "Known"


@pytest.mark.parametrize("name", ["a.b", "a-b", "_a", "__import__", "caps", "class", "", "a\nb"])
def test_a_name_that_code_cannot_define(host: HostFunctions, name: str) -> None:
    """It is refused, and never becomes code."""
    refused = pytest.raises(ConfigurationError, match="cannot be the name")
    with refused, host.offered("s1", {name: print}):
        raise AssertionError


def test_it_leaves_unless_the_program_says_otherwise() -> None:
    """Flow rules ask for `egress`."""
    for given in (True, False):
        registry = CapabilityRegistry()
        HostFunctions(registry, egress=given, labels=("untrusted",))
        spec = registry.capabilities["host.call"].spec
        assert (spec.egress, set(spec.labels)) == (given, {"untrusted"})
