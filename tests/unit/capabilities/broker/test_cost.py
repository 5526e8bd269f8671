"""The cost of calls: counted when they are allowed, refused before they exceed `limits.cost`."""

from __future__ import annotations

from typing import Any

import pytest

from caps.capabilities.grant import in_millionths
from caps.capabilities.registration import CardTerms
from caps.protocol.errors import ConfigurationError
from caps.security.audit import DecisionMade
from support.broker_setup import BrokerSetup, answer_batch, make_request

pytestmark = pytest.mark.anyio


def setup_with(cost: float, **policy: Any) -> BrokerSetup:
    """Where each call of `box.echo` costs this, and `box.slow` nothing."""
    setup = BrokerSetup(**policy)
    setup.registry.use_cards({"box.echo": CardTerms(agent_type="box", cost_estimate=cost)})
    setup.calls = setup.execution("e2")
    return setup


def reasons(setup: BrokerSetup) -> list[str]:
    return [one.reason for one in setup.of(DecisionMade)]


async def test_calls_are_refused_once_their_cost_exceeds_the_limit() -> None:
    """Three tenths are 0.3, however they are added; a call that costs nothing goes on."""
    setup = setup_with(0.1, limits={"cost": 0.3})
    await setup.call("a", "b", "c", "d")
    await setup.calls.answer(make_request(None, "box.slow"))
    assert setup.called == ["a", "b", "c"]
    assert reasons(setup) == ["allowed"] * 3 + ["cost_exceeded", "allowed"]
    refused = setup.of(DecisionMade)[3]
    assert (refused.rule, refused.policy_id) == ("limits.cost", "test")
    assert refused.message == "`box.echo` is over `limits.cost` of policy `test`, which is 0.3"


async def test_refused_calls_cost_nothing_and_repeats_neither() -> None:
    """A payload that does not fit, and the same idempotency key again."""
    setup = setup_with(1.0, limits={"cost": 2})
    for word, key in ((7, None), ("a", "k"), ("a", "k"), ("b", None), ("c", None)):
        await setup.calls.answer(make_request(word, idempotency_key=key))
    assert reasons(setup) == ["payload_invalid", *["allowed"] * 3, "cost_exceeded"]
    assert setup.calls.meter.millionths == 2_000_000


async def test_both_drivers_count_the_same() -> None:
    """Calls in a batch and calls by themselves share what is left."""
    setup = setup_with(1.0, limits={"cost": 3})
    await answer_batch(setup.calls, [make_request("a"), make_request("b")])
    await setup.calls.answer(make_request("c"))
    await answer_batch(setup.calls, [make_request("d")])
    assert reasons(setup) == ["allowed"] * 3 + ["cost_exceeded"]


async def test_without_a_card_nothing_costs_anything() -> None:
    """Not even under a limit of nothing."""
    setup = BrokerSetup(limits={"cost": 0})
    await setup.call("a")
    assert reasons(setup) == ["allowed"]


def test_costs_are_counted_in_millionths_rounded_up() -> None:
    """So a small cost is never lost, and what costs nothing is left out."""
    assert in_millionths({"a": 0.1, "b": 1e-9, "c": 0.0, "d": 2}) == {
        "a": 100_000,
        "b": 1,
        "d": 2_000_000,
    }
    for wrong in (-1.0, float("nan"), 1e10):
        with pytest.raises(ConfigurationError, match="the cost of `a`"):
            in_millionths({"a": wrong})
