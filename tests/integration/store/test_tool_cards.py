"""Tool cards and their keys, on both databases."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
import sqlalchemy as sa

from caps import CapabilityRegistry, Runtime, builtin_registry
from caps.agents.tool_cards.errors import CardConflictError, ToolCardError
from caps.agents.tool_cards.key_ring import KeyRing
from caps.agents.tool_cards.settings import CardMode, CardSettings
from caps.agents.tool_cards.signing import Algorithm
from caps.agents.tool_cards.startup import card_for, ensure_tool_cards
from caps.agents.tool_cards.tool_cards import ToolCards
from caps.protocol.errors import ConfigurationError, PolicyDeniedError
from caps.store import StoreError, open_store
from caps.store.database import Store
from caps.store.repositories.signing_keys import signing_keys
from caps.store.repositories.tool_registry import tool_registry
from caps.store.sealing import SecretBox
from support.card_examples import CARD, HMAC_KEY, SECRET, card_with

pytestmark = pytest.mark.anyio

TESTS = Path(__file__).parents[2]
BOX = SecretBox(b"k" * 32)
OTHER_SECRET = b"another secret that tests have"
REFUSE = CardSettings(mode=CardMode.REFUSE)
QUARANTINE = CardSettings(mode=CardMode.QUARANTINE)


@pytest.fixture
def keys(store: Store) -> KeyRing:
    return KeyRing(store, BOX)


@pytest.fixture
def cards(store: Store, keys: KeyRing) -> ToolCards:
    return ToolCards(store, keys)


async def change(store: Store, table: sa.Table, **values: Any) -> None:
    """As somebody who can write to the database and has no key."""
    await store.write(lambda connection: connection.execute(sa.update(table).values(**values)))


async def states(keys: KeyRing) -> list[str]:
    return [key.state for key in await keys.keys()]


async def problems(cards: ToolCards) -> list[str | None]:
    return [each.problem for each in await cards.cards()]


class TestPublishing:
    async def test_a_published_card_is_valid_and_found(self, cards: ToolCards) -> None:
        """With everything that was given."""
        published = await cards.publish(CARD)
        found = await cards.find("research.search")
        assert (found.card, found.problem) == (published, None)
        assert published.cost_estimate == 0.25

    async def test_the_same_again_changes_nothing(self, cards: ToolCards) -> None:
        """Also with the evidence of the first time."""
        published = await cards.publish(CARD)
        evidence = {"checksum": published.checksum, "signature": published.signature}
        assert await cards.publish({**CARD, **evidence}) == published
        assert len(await cards.cards()) == 1

    @pytest.mark.parametrize("field", ["checksum", "signature"])
    async def test_stale_evidence_is_refused(self, cards: ToolCards, field: str) -> None:
        """Nothing is stored."""
        published = await cards.publish(CARD)
        stale = card_with(version="2", **{field: getattr(published, field)})
        with pytest.raises(ToolCardError, match="checksum mismatch"):
            await cards.publish(stale)
        assert len(await cards.cards()) == 1

    async def test_a_version_never_changes(self, cards: ToolCards) -> None:
        """Another version is another card, and the last one is found."""
        published = await cards.publish(CARD)
        with pytest.raises(CardConflictError):
            await cards.publish(card_with(description="Other."))
        assert (await cards.find("research.search")).card == published
        await cards.publish(card_with(version="2.0.0", description="Other."))
        assert (await cards.find("research.search")).row.version == "2.0.0"
        assert (await cards.find("research.search", "1.0.0")).card == published

    async def test_of_several_at_once_one_is_stored(self, cards: ToolCards) -> None:
        """The others are the same, or a conflict."""
        conflicts = 0

        async def publish(number: int) -> None:
            nonlocal conflicts
            try:
                await cards.publish(card_with(description=str(number % 2)))
            except CardConflictError:
                conflicts += 1

        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(publish, number)
        assert conflicts == 4
        assert await problems(cards) == [None]

    @pytest.mark.parametrize(
        "changed",
        [
            {"description": "edited"},
            {"agent_type": "other"},
            {"input_schema": "{}"},
            {"output_schema": "not json"},
            {"output_schema": "[]"},
            {"cost_estimate": 0.5},
            {"cost_estimate": None},
            {"side_effects": ()},
            {"version": "9"},
            {"name": "other"},
            {"checksum": "0" * 64},
            {"signature": "0" * 64},
            {"key_id": "0" * 16},
            {"alg": "ed25519"},
        ],
        ids=lambda changed: next(iter(changed)),
    )
    async def test_an_edited_row_is_noticed(
        self, store: Store, cards: ToolCards, changed: dict[str, Any]
    ) -> None:
        """Whatever column it was."""
        await cards.publish(CARD)
        await change(store, tool_registry, **changed)
        (problem,) = await problems(cards)
        assert problem is not None


class TestKeys:
    async def test_the_first_card_creates_a_key(self, cards: ToolCards, keys: KeyRing) -> None:
        """Reading creates none."""
        assert await cards.cards() == []
        assert await states(keys) == []
        await cards.publish(CARD)
        assert await states(keys) == ["active"]

    async def test_rotation_keeps_cards_valid(self, cards: ToolCards, keys: KeyRing) -> None:
        """Until they are signed again, and afterwards."""
        old = (await cards.publish(CARD)).key_id
        new = await keys.rotate(Algorithm.ED25519)
        assert await states(keys) == ["verify-only", "active"]
        assert await problems(cards) == [None]
        assert (await cards.resign()).signed == 1
        assert (await cards.find("research.search")).row.key_id == new
        await keys.revoke(old)
        assert await problems(cards) == [None]
        assert (await cards.resign()).signed == 0

    async def test_a_revoked_key_ends_its_cards(
        self, store: Store, cards: ToolCards, keys: KeyRing
    ) -> None:
        """Resigning does not bring them back; publishing the content again does."""
        key_id = (await cards.publish(CARD)).key_id
        await keys.revoke(key_id)
        assert await problems(cards) == [f"its key `{key_id}` is revoked"]
        with pytest.raises(ToolCardError, match="no signing key is active"):
            await cards.publish(CARD)
        await keys.rotate()
        done = await cards.resign()
        assert (done.signed, len(done.invalid)) == (0, 1)
        await cards.publish(CARD)
        assert await problems(cards) == [None]

    async def test_an_unknown_key_cannot_be_revoked(self, keys: KeyRing) -> None:
        with pytest.raises(ToolCardError, match="there is no signing key"):
            await keys.revoke("nothing")

    async def test_a_configured_secret_is_a_key_of_the_ring(self, store: Store) -> None:
        """Another secret takes its place; processes with the old one do not change that."""
        old, new = KeyRing(store, BOX, SECRET), KeyRing(store, BOX, OTHER_SECRET)
        card = await ToolCards(store, old).publish(CARD)
        assert card.key_id == HMAC_KEY.id
        await ToolCards(store, new).publish(card_with(version="2"))
        await ToolCards(store, old).publish(card_with(version="3"))
        assert await states(old) == ["verify-only", "active"]
        assert await problems(ToolCards(store, KeyRing(store, BOX))) == [None] * 3
        await new.revoke(card.key_id)
        await ToolCards(store, old).publish(card_with(version="4"))
        assert await states(old) == ["revoked", "active"]

    async def test_rotation_with_a_configured_secret_lasts(self, store: Store) -> None:
        """The secret does not become active again."""
        keys = KeyRing(store, BOX, SECRET)
        new = await keys.rotate()
        assert (await ToolCards(store, keys).publish(CARD)).key_id == new
        assert await states(keys) == ["verify-only", "active"]

    @pytest.mark.parametrize("state", ["active", "verify-only", "nonsense"])
    async def test_an_edited_state_is_noticed(
        self, store: Store, cards: ToolCards, keys: KeyRing, state: str
    ) -> None:
        """A revoked key has no secret any more, and the others are sealed with their state."""
        card = await cards.publish(CARD)
        await keys.rotate()
        await keys.revoke(card.key_id)
        await change(store, signing_keys, state=state)
        with pytest.raises(StoreError):
            await cards.cards()

    async def test_another_key_of_the_store_opens_none(
        self, store: Store, cards: ToolCards
    ) -> None:
        """The message names the variable to set."""
        await cards.publish(CARD)
        with pytest.raises(StoreError, match="CAPS_STORE_KEY_FILE"):
            await ToolCards(store, KeyRing(store, SecretBox(b"o" * 32))).cards()

    async def test_rotations_at_once_leave_one_active_key(
        self, cards: ToolCards, keys: KeyRing
    ) -> None:
        """And cards can be published meanwhile."""
        async with anyio.create_task_group() as group:
            for number in range(6):
                group.start_soon(keys.rotate)
                group.start_soon(cards.publish, card_with(version=str(number)))
        assert sorted(await states(keys)).count("active") == 1
        assert await problems(cards) == [None] * 6


async def test_rotation_while_other_processes_publish_and_verify(
    store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No publisher ever fails, and no card is ever invalid."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    async with open_store(store_url) as store:
        from caps.store.sealing import load_secret_box

        keys = KeyRing(store, load_secret_box())
        cards = ToolCards(store, keys)
        with ExitStack() as stack:
            publishers = [
                stack.enter_context(
                    subprocess.Popen(
                        [sys.executable, "-m", "support.card_publisher", store_url, name],
                        stdout=subprocess.PIPE,
                        text=True,
                        cwd=TESTS,
                        env=environment,
                    )
                )
                for name in ("one", "two")
            ]
            try:
                for publisher in publishers:
                    await next_line(publisher)  # it has begun
                for alg in (Algorithm.ED25519, Algorithm.HMAC_SHA256, Algorithm.ED25519):
                    await keys.rotate(alg)
                    await cards.resign()
                    for publisher in publishers:
                        await next_line(publisher)
                assert [publisher.poll() for publisher in publishers] == [None, None]
            finally:
                for publisher in publishers:
                    publisher.kill()
        found = await cards.cards()
        assert len(found) >= 8
        assert {each.problem for each in found} == {None}
        assert (await states(keys)).count("active") == 1


async def next_line(publisher: subprocess.Popen[str]) -> None:
    assert publisher.stdout is not None
    with anyio.fail_after(60):
        line = await anyio.to_thread.run_sync(publisher.stdout.readline, abandon_on_cancel=True)
    assert line.strip().isdigit()


class TestStartUp:
    async def test_built_in_functions_get_cards(self, store: Store, keys: KeyRing) -> None:
        """Once; the second start finds them."""
        registry = builtin_registry(plugins="off")
        for _ in range(2):
            report = await ensure_tool_cards(store, registry, keys, REFUSE)
            assert {card.name for card in report.valid} == {spec.name for spec in registry}
            assert (report.invalid, dict(report.refused)) == ((), {})

    async def test_a_required_agent_type_must_have_a_card(
        self, store: Store, keys: KeyRing
    ) -> None:
        settings = CardSettings(mode=CardMode.QUARANTINE, required_agents=("math", "planner"))
        with pytest.raises(ConfigurationError, match="`planner`"):
            await ensure_tool_cards(store, builtin_registry(plugins="off"), keys, settings)

    async def test_a_changed_card_refuses_to_start_or_is_in_quarantine(
        self, store: Store, keys: KeyRing
    ) -> None:
        """Seeding does not repair it: somebody should look at it."""
        registry = builtin_registry(plugins="off")
        await ensure_tool_cards(store, registry, keys, REFUSE)
        edited = sa.update(tool_registry).where(tool_registry.c.name == "math.add")
        await store.write(lambda found: found.execute(edited.values(description="edited")))
        with pytest.raises(ToolCardError, match=r"`math\.add` .*checksum mismatch"):
            await ensure_tool_cards(store, registry, keys, REFUSE)
        report = await ensure_tool_cards(store, registry, keys, QUARANTINE)
        assert [each.row.name for each in report.invalid] == ["math.add"]
        assert list(report.refused) == ["math.add"]

    async def test_a_revoked_key_is_replaced_for_what_comes_with_caps(
        self, store: Store, keys: KeyRing
    ) -> None:
        """The content is that of the installed package."""
        registry = builtin_registry(plugins="off")
        report = await ensure_tool_cards(store, registry, keys, REFUSE)
        await keys.revoke(report.valid[0].key_id)
        new = await keys.rotate()
        report = await ensure_tool_cards(store, registry, keys, REFUSE)
        assert {card.key_id for card in report.valid} == {new}


def registry_with(limit: int) -> CapabilityRegistry:
    registry = CapabilityRegistry()

    @registry.capability("stock.lookup")
    async def lookup(sku: str, limit: int = limit) -> int:
        return limit

    return registry


@pytest.fixture
async def drifted(store: Store, keys: KeyRing) -> CapabilityRegistry:
    """A registry whose function has another default than its card says."""
    spec = registry_with(1).capabilities["stock.lookup"].spec
    payload = card_for(spec, "1.0.0")
    given = {name: getattr(payload, name) for name in payload.__struct_fields__}
    await ToolCards(store, keys).publish(given)
    return registry_with(2)


async def call(registry: CapabilityRegistry, place: Path) -> Any:
    policy = {"allow": ["stock.lookup"]}
    async with Runtime(policy, registry=registry, audit=place, isolation="best-effort") as runtime:
        return await runtime.call("stock.lookup", {"sku": "a"})


class TestCalls:
    async def test_a_function_as_on_its_card_can_be_called(
        self, store: Store, keys: KeyRing, drifted: CapabilityRegistry, tmp_path: Path
    ) -> None:
        registry = registry_with(1)
        await ensure_tool_cards(store, registry, keys, REFUSE)
        assert (await call(registry, tmp_path / "audit")).unwrap() == 1

    async def test_a_drifted_function_refuses_to_start(
        self, store: Store, keys: KeyRing, drifted: CapabilityRegistry
    ) -> None:
        with pytest.raises(ToolCardError, match="drifted"):
            await ensure_tool_cards(store, drifted, keys, REFUSE)

    async def test_in_quarantine_its_calls_are_refused_and_recorded(
        self, store: Store, keys: KeyRing, drifted: CapabilityRegistry, tmp_path: Path
    ) -> None:
        """By the decision, with a reason of its own; a card for it makes it callable again."""
        await ensure_tool_cards(store, drifted, keys, QUARANTINE)
        result = await call(drifted, tmp_path / "audit")
        with pytest.raises(PolicyDeniedError, match="no valid tool card"):
            result.unwrap()
        log = "".join(file.read_text() for file in (tmp_path / "audit").glob("*.jsonl"))
        assert '"reason":"tool_card_invalid"' in log
        payload = card_for(drifted.capabilities["stock.lookup"].spec, "2.0.0")
        given = {name: getattr(payload, name) for name in payload.__struct_fields__}
        await ToolCards(store, keys).publish(given)
        await ensure_tool_cards(store, drifted, keys, QUARANTINE)
        assert (await call(drifted, tmp_path / "audit2")).unwrap() == 2

    async def test_a_function_without_a_card_is_refused_and_does_not_stop_the_start(
        self, store: Store, keys: KeyRing, tmp_path: Path
    ) -> None:
        registry = registry_with(1)
        report = await ensure_tool_cards(store, registry, keys, REFUSE)
        assert dict(report.refused) == {"stock.lookup": "it has no tool card"}
        assert not (await call(registry, tmp_path / "audit")).ok


class TestCosts:
    async def test_the_card_that_was_published_last_says_what_a_call_costs(
        self, store: Store, keys: KeyRing, drifted: CapabilityRegistry
    ) -> None:
        """Among those that describe the function as it is; without one, nothing."""
        registry = registry_with(1)
        payload = card_for(registry.capabilities["stock.lookup"].spec, "1.0.0")
        given = {name: getattr(payload, name) for name in payload.__struct_fields__}
        for version, cost in (("2.0.0", 2.0), ("1.5.0", 0.5)):
            changed = {"version": version, "cost_estimate": cost, "agent_type": "buyer"}
            await ToolCards(store, keys).publish({**given, **changed})
        await ensure_tool_cards(store, registry, keys, QUARANTINE)
        card = registry.cards["stock.lookup"]
        assert (card.cost_estimate, card.agent_type) == (0.5, "buyer")
        assert registry.inject("caps", "e1", {"allow": ["stock.*"]}).costs == {
            "stock.lookup": 500_000
        }
        await ensure_tool_cards(store, drifted, keys, QUARANTINE)
        assert drifted.cards == {}
