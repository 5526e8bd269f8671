"""Start-up: cards for what comes with Caps, all cards verified, and functions set against them.

A function is vouched for if a valid card of its name has exactly its schemas. In a registry with
cards, every grant refuses the others (`CapabilityRegistry.refuse_uncarded`), so that the decision
names the reason and the audit log has it. Several versions of a card can be valid, so an older
program works beside a newer one.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from caps.agents.tool_cards.card import CardPayload, ToolCard, checked, schemas_digest
from caps.agents.tool_cards.errors import ToolCardError
from caps.agents.tool_cards.key_ring import KeyRing
from caps.agents.tool_cards.settings import CardMode, CardSettings
from caps.agents.tool_cards.tool_cards import CheckedCard, ToolCards
from caps.capabilities.registration import CardTerms
from caps.protocol.errors import ConfigurationError
from caps.protocol.version import package_version
from caps.providers.builtin import builtin_registry
from caps.security.policy import COST

if TYPE_CHECKING:
    from caps.capabilities.registry import CapabilityRegistry
    from caps.capabilities.spec import CapabilitySpec
    from caps.store.database import Store

logger = logging.getLogger(__name__)

_NO_CARD = "it has no tool card"


class CardReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was found at start-up."""

    valid: tuple[ToolCard, ...]
    invalid: tuple[CheckedCard, ...]
    """Cards that do not count."""
    refused: Mapping[str, str]
    """The functions of the registry without a valid card, and why."""


async def ensure_tool_cards(
    store: Store, registry: CapabilityRegistry, keys: KeyRing, settings: CardSettings
) -> CardReport:
    """Seed the cards of what comes with Caps, verify all cards, and refuse what has none.

    From then on, grants of `registry` refuse functions without a valid card. Call it again when
    cards or keys have changed. Raises ConfigurationError if a required agent type has no valid
    card; ToolCardError if a card is not valid, or the schemas of a function differ from its card,
    unless `settings.mode` is `quarantine`.
    """
    cards = ToolCards(store, keys)
    await _seed(cards, registry)
    report = _compared(registry, await cards.cards())
    _require_agents(report.valid, settings.required_agents)
    problems = [f"the card {each.title}: {each.problem}" for each in report.invalid]
    problems += [f"`{name}`: {why}" for name, why in report.refused.items() if why != _NO_CARD]
    if problems and settings.mode is not CardMode.QUARANTINE:
        more = f" (and {len(problems) - 1} more; see `caps tools verify`)" if problems[1:] else ""
        raise ToolCardError(f"tool cards are not valid: {problems[0]}{more}")
    for problem in problems:
        logger.error("in quarantine: %s", problem)
    registry.refuse_uncarded(report.refused)
    registry.use_cards(_in_force(registry, report))
    return report


def side_effects_of(spec: CapabilitySpec) -> tuple[str, ...]:
    """What a function says of itself; a card may say something else."""
    effects = {tag for tag in spec.tags if tag != "pure"} | ({"network"} if spec.egress else set())
    return tuple(sorted(effects))


def card_for(spec: CapabilitySpec, version: str) -> CardPayload:
    """The card that describes a function as it is. Raises ToolCardError if none can."""
    return checked(
        CardPayload(
            name=spec.name,
            version=version,
            agent_type=spec.domain,
            description=spec.description,
            input_schema=spec.schema_in,
            output_schema=spec.schema_out,
            side_effects=side_effects_of(spec),
        )
    )


async def _seed(cards: ToolCards, registry: CapabilityRegistry) -> None:
    """A card that is there already counts, whatever it says: a difference is noticed later."""
    version = package_version()
    wanted = [
        card_for(spec, version) for spec in builtin_registry(plugins="off") if spec.name in registry
    ]
    there = {(each.row.name, each.row.version) for each in await cards.cards() if not each.lost_key}
    absent = [each for each in wanted if (each.name, each.version) not in there]
    if absent:
        await cards.seed(absent)


def _compared(registry: CapabilityRegistry, found: Iterable[CheckedCard]) -> CardReport:
    valid: list[ToolCard] = []
    invalid: list[CheckedCard] = []
    vouched: dict[str, set[str]] = {}
    for each in found:
        if each.card is None or each.problem is not None:
            invalid.append(each)
            continue
        valid.append(each.card)
        digest = schemas_digest(each.card.input_schema, each.card.output_schema)
        vouched.setdefault(each.card.name, set()).add(digest)
    checks = {spec.name: _refusal(spec, vouched) for spec in registry}
    refused = {name: why for name, why in checks.items() if why is not None}
    return CardReport(valid=tuple(valid), invalid=tuple(invalid), refused=refused)


def _in_force(registry: CapabilityRegistry, report: CardReport) -> dict[str, CardTerms]:
    """For each function that is vouched for, the card that was published last and describes it."""
    found: dict[str, CardTerms] = {}
    specs = {spec.name: spec for spec in registry if spec.name not in report.refused}
    for card in report.valid:  # the oldest first
        spec = specs.get(card.name)
        if spec is None:
            continue
        digest = schemas_digest(spec.schema_in, spec.schema_out)
        if digest == schemas_digest(card.input_schema, card.output_schema):
            found[card.name] = CardTerms(
                agent_type=card.agent_type,
                cost_estimate=min(card.cost_estimate or 0.0, COST),
                side_effects=card.side_effects,
            )
    return found


def _refusal(spec: CapabilitySpec, vouched: Mapping[str, set[str]]) -> str | None:
    if spec.name not in vouched:
        return _NO_CARD
    try:
        digest = schemas_digest(spec.schema_in, spec.schema_out)
    except ToolCardError as error:
        return error.message
    return None if digest in vouched[spec.name] else "its schemas have drifted from its tool card"


def _require_agents(valid: Iterable[ToolCard], required: Iterable[str]) -> None:
    missing = sorted(set(required) - {card.agent_type for card in valid})
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise ConfigurationError(f"no valid tool card has the required agent type {names}")
