"""`caps tools`: publish, list, show, verify and sign tool cards."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from caps.cli.exits import ExitCode, fail, report_errors
from caps.cli.input_files import read_input
from caps.cli.options import json_option, load_registry, registry_option, store_option
from caps.cli.tool_cards import administer_tool_cards, with_tool_cards
from caps.protocol.text import printable

if TYPE_CHECKING:
    from caps.agents.tool_cards.card import CardPayload
    from caps.agents.tool_cards.tool_cards import CheckedCard


@click.group()
def tools() -> None:
    """Publish, list, show, verify and sign tool cards."""


@tools.command()
@click.option("--file", required=True, metavar="FILE", help="The card as JSON; `-` reads input.")
@store_option
@json_option
def publish(file: str, url: str | None, as_json: bool) -> None:
    """Sign a card and store it. A published version never changes."""
    from caps.agents.tool_cards.card import MAX_CARD_BYTES, parse_card

    data = read_input(file, MAX_CARD_BYTES)
    with report_errors():
        given = parse_card(data)
    card = administer_tool_cards(url, lambda cards: cards.publish(given)).card
    if as_json:
        click.echo(json.dumps(_as_json(card)))
    else:
        click.echo(f"the card {card.title} is published, signed by `{card.key_id}`")


@tools.command("list")
@store_option
@json_option
def list_(url: str | None, as_json: bool) -> None:
    """Print all cards, and which are not valid."""
    found = with_tool_cards(url, lambda cards, _: cards.cards())
    if as_json:
        click.echo(json.dumps([_checked_as_json(each) for each in found]))
    elif not found:
        click.echo("there are no tool cards")
    for each in () if as_json else found:
        row = each.row
        line = (
            f"{row.name} {row.version}  {row.agent_type}  {row.key_id}  {each.problem or 'valid'}"
        )
        click.echo(printable(line, 400))


@tools.command()
@click.argument("name")
@click.option("--version", help="By default the version that was published last.")
@store_option
def show(name: str, version: str | None, url: str | None) -> None:
    """Print the card NAME as JSON. Ends with 7 if it is not valid."""
    found = with_tool_cards(url, lambda cards, _: cards.find(name, version))
    if found.card is not None:
        click.echo(json.dumps(_as_json(found.card), indent=2))
    if found.problem is not None:
        fail(f"the card {found.title} is not valid: {found.problem}", ExitCode.FOUND)


@tools.command()
@store_option
@json_option
def verify(url: str | None, as_json: bool) -> None:
    """Verify checksum and signature of all cards. Ends with 7 if one is not valid."""
    found = with_tool_cards(url, lambda cards, _: cards.cards())
    invalid = [each for each in found if each.problem is not None]
    if as_json:
        rows = [_name_and_problem(each) for each in invalid]
        click.echo(json.dumps({"cards": len(found), "invalid": rows}))
    else:
        for each in invalid:
            click.echo(printable(f"the card {each.title} is not valid: {each.problem}", 400))
        click.echo(f"{len(found) - len(invalid)} of {len(found)} cards are valid")
    sys.exit(ExitCode.FOUND if invalid else ExitCode.OK)


@tools.command()
@store_option
def resign(url: str | None) -> None:
    """Sign all valid cards with the active key. Ends with 7 if a card is not valid."""
    done = administer_tool_cards(url, lambda cards: cards.resign())
    for each in done.invalid:
        what = f"the card {each.title} is not signed again: {each.problem}"
        click.echo(f"caps: {printable(what, 400)}", err=True)
    click.echo(f"{done.signed} cards are signed again")
    sys.exit(ExitCode.FOUND if done.invalid else ExitCode.OK)


@tools.command()
@click.argument("function")
@click.option("--version", required=True, help="The version of the card.")
@registry_option
def draft(function: str, version: str, registry_name: str | None) -> None:
    """Print a card that describes FUNCTION of the registry as it is, to edit and publish."""
    from caps.agents.tool_cards.startup import card_for

    with report_errors():
        known = load_registry(registry_name).capabilities
        if function not in known:
            fail(f"there is no function `{printable(function, 80)}`", ExitCode.BAD_USAGE)
        payload = card_for(known[function].spec, version)
    click.echo(json.dumps(_as_json(payload), indent=2))


def _as_json(card: CardPayload) -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(card)
    return found


def _name_and_problem(each: CheckedCard) -> dict[str, Any]:
    return {"name": each.row.name, "version": each.row.version, "problem": each.problem}


def _checked_as_json(each: CheckedCard) -> dict[str, Any]:
    card = {} if each.card is None else _as_json(each.card)
    return {
        **card,
        **_name_and_problem(each),
        "created_at": each.row.created_at.isoformat(),
        "updated_at": each.row.updated_at.isoformat(),
    }
