"""`caps keys`: the keys that sign tool cards. No command prints a secret."""

from __future__ import annotations

import json

import click

from caps.cli.options import json_option, store_option
from caps.cli.tool_cards import administer_tool_cards, with_tool_cards


@click.group()
def keys() -> None:
    """List, rotate and revoke the keys that sign tool cards."""


@keys.command("list")
@store_option
@json_option
def list_(url: str | None, as_json: bool) -> None:
    """Print the keys, their states, and when they were created."""
    found = with_tool_cards(url, lambda _, ring: ring.keys())
    if as_json:
        rows = [
            {
                "id": key.id,
                "alg": key.alg,
                "state": key.state,
                "public_key": key.public_key.hex() or None,
                "created_at": key.created_at.isoformat(),
                "updated_at": key.updated_at.isoformat(),
            }
            for key in found
        ]
        click.echo(json.dumps(rows))
    elif not found:
        click.echo("there are no signing keys; one is created when a card is signed")
    for key in () if as_json else found:
        created = f"created {key.created_at:%Y-%m-%d %H:%M:%S}"
        click.echo(f"{key.id}  {key.state:<11}  {key.alg:<11}  {created}")


@keys.command()
@click.option(
    "--alg",
    type=click.Choice(["hmac-sha256", "ed25519"]),
    default="hmac-sha256",
    show_default=True,
    help="What the new key signs with.",
)
@store_option
def rotate(alg: str, url: str | None) -> None:
    """Make a new key the active one.

    Cards that older keys signed stay valid; `caps tools resign` signs them with the new one.
    """
    from caps.agents.tool_cards.signing import Algorithm

    key_id = administer_tool_cards(url, lambda cards: cards.rotate(Algorithm(alg)))
    click.echo(f"the key `{key_id}` is active")


@keys.command()
@click.argument("key_id")
@store_option
def revoke(key_id: str, url: str | None) -> None:
    """Delete the secret of the key KEY_ID for good.

    Cards that it signed are not valid any more; sign them with another key first.
    """
    administer_tool_cards(url, lambda cards: cards.revoke(key_id))
    click.echo(f"the key `{key_id}` is revoked")
