"""`caps tools`, `caps keys` and `caps config`, as an operator uses them."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from support.card_examples import CARD, card_with

CAPS = str(Path(sys.executable).with_name("caps"))
SECRET = "a-signing-secret-nobody-sees"
POLICY = '{"id": "sums", "allow": ["math.add"]}'
CALL = ("call", "math.add", '{"a": 1, "b": 2}')


def caps(
    state: Path, *arguments: str, stdin: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CAPS_")}
    return subprocess.run(
        [CAPS, *arguments],
        capture_output=True,
        text=True,
        input=stdin,
        env={**kept, "XDG_STATE_HOME": str(state), **variables},
        timeout=60,
        check=False,
    )


def publish(state: Path, card: object = CARD, **variables: str) -> tuple[int, str]:
    done = caps(state, "tools", "publish", "--file", "-", stdin=json.dumps(card), **variables)
    return done.returncode, done.stdout + done.stderr


def test_publish_show_verify(tmp_path: Path) -> None:
    """What is shown can be published again; what was changed in it cannot."""
    code, said = publish(tmp_path)
    assert (code, said.startswith("the card `research.search` 1.0.0 is published")) == (0, True)
    shown = json.loads(caps(tmp_path, "tools", "show", "research.search").stdout)
    assert {name: shown[name] for name in CARD} == CARD
    assert publish(tmp_path, shown)[0] == 0
    code, said = publish(tmp_path, {**shown, "description": "changed"})
    assert (code, "checksum mismatch" in said) == (2, True)
    code, said = publish(tmp_path, card_with(description="changed"))
    assert (code, "publish another version" in said) == (2, True)
    verified = caps(tmp_path, "tools", "verify")
    assert (verified.returncode, verified.stdout) == (0, "1 of 1 cards are valid\n")
    assert caps(tmp_path, "tools", "show", "nothing").returncode == 2


def test_rotate_resign_revoke(tmp_path: Path) -> None:
    """Step by step, without a moment in which a card is not valid; secrets are nowhere."""
    variables = {"CAPS_CAPABILITY_SIGNING_SECRET": SECRET}
    assert publish(tmp_path, **variables)[0] == 0
    (first,) = json.loads(caps(tmp_path, "keys", "list", "--json").stdout)
    assert (first["state"], first["alg"]) == ("active", "hmac-sha256")
    assert caps(tmp_path, "keys", "rotate", "--alg", "ed25519", **variables).returncode == 0
    assert caps(tmp_path, "tools", "verify").returncode == 0
    assert caps(tmp_path, "tools", "resign").stdout == "1 cards are signed again\n"
    assert caps(tmp_path, "keys", "revoke", first["id"]).returncode == 0
    assert caps(tmp_path, "tools", "verify", **variables).returncode == 0
    listed = json.loads(caps(tmp_path, "keys", "list", "--json").stdout)
    assert [key["state"] for key in listed] == ["revoked", "active"]
    assert len(bytes.fromhex(listed[1]["public_key"])) == 32
    assert caps(tmp_path, "keys", "revoke", listed[1]["id"]).returncode == 0
    assert caps(tmp_path, "tools", "verify").returncode == 7
    assert caps(tmp_path, "tools", "resign").returncode == 7  # its card stays as it is
    files = [each for each in (tmp_path / "caps").rglob("*") if each.is_file()]
    assert not any(SECRET.encode() in each.read_bytes() for each in files)
    shown = caps(tmp_path, "audit", "query", "--json", "--kind", "admin_action").stdout
    done = [json.loads(line) for line in shown.splitlines()]
    assert [each["action"] for each in done if each["status"] == "done"] == [
        "tool_card_publish",
        "signing_key_activate",
        "signing_key_rotate",
        "tool_cards_resign",
        "signing_key_revoke",
        "signing_key_revoke",
        "tool_cards_resign",
    ]


def test_calls_are_refused_when_a_card_was_changed(tmp_path: Path) -> None:
    """`refuse` does not start, `quarantine` refuses the call and records it, `off` ignores it."""
    (tmp_path / "p.json").write_text(POLICY)
    call = (*CALL, "--policy", str(tmp_path / "p.json"))
    refuse, quarantine = (
        {"CAPS_CAPABILITY_CARDS": mode, "CAPS_ISOLATION": "best-effort"}
        for mode in ("refuse", "quarantine")
    )
    assert caps(tmp_path, *call, **refuse).returncode == 0
    with sqlite3.connect(tmp_path / "caps" / "caps.db") as database:
        database.execute("UPDATE tool_registry SET agent_type = 'x' WHERE name = 'math.add'")
    database.close()
    refused = caps(tmp_path, *call, **refuse)
    assert (refused.returncode, "checksum mismatch" in refused.stderr) == (2, True)
    denied = caps(tmp_path, *call, **quarantine)
    assert (denied.returncode, "it has no valid tool card" in denied.stderr) == (3, True)
    assert "tool_card_invalid" in caps(tmp_path, "audit", "show", "--json").stdout
    assert caps(tmp_path, *call, CAPS_ISOLATION="best-effort").returncode == 0


def test_a_draft_of_a_function_can_be_published(tmp_path: Path) -> None:
    """Its schemas are those of the function."""
    draft = caps(tmp_path, "tools", "draft", "files.read", "--version", "9.0.0")
    assert publish(tmp_path, json.loads(draft.stdout))[0] == 0
    (listed,) = json.loads(caps(tmp_path, "tools", "list", "--json").stdout)
    assert (listed["name"], listed["version"], listed["problem"]) == ("files.read", "9.0.0", None)


@pytest.mark.parametrize("kind", ["toml", "json"])
def test_a_configuration_file(tmp_path: Path, kind: str) -> None:
    """Its secret signs; `show` masks it and says where each value comes from."""
    file = tmp_path / f"caps.{kind}"
    text = {
        "toml": f'isolation = "full"\n[capability]\nsigning_secret = "{SECRET}"\n',
        "json": json.dumps({"isolation": "full", "capability": {"signing_secret": SECRET}}),
    }
    file.write_text(text[kind])
    file.chmod(0o600)
    variables = {"CAPS_CONFIG": str(file), "CAPS_ISOLATION": "best-effort"}
    shown = caps(tmp_path, "config", "show", "--json", **variables)
    assert SECRET not in shown.stdout + caps(tmp_path, "config", "show", **variables).stdout
    rows = {row["setting"]: (row["value"], row["source"]) for row in json.loads(shown.stdout)}
    assert rows["capability.signing_secret"] == ("(masked)", "file")
    assert rows["isolation"] == ("best-effort", "environment")
    assert rows["audit.path"] == (None, "default")
    assert caps(tmp_path, "config", "check", **variables).returncode == 0
    assert publish(tmp_path, **variables)[0] == 0
    same = {"CAPS_CAPABILITY_SIGNING_SECRET": SECRET}
    publish(tmp_path, card_with(version="2"), **same)
    assert len(json.loads(caps(tmp_path, "keys", "list", "--json").stdout)) == 1


def test_check_lists_every_problem(tmp_path: Path) -> None:
    """Each as the program that uses the setting says it, without secrets."""
    wrong = {
        "CAPS_ISOLATION": "none",
        "CAPS_PLUGINS": "maybe",
        "CAPS_CAPABILITY_SIGNING_SECRET": "short",
        "CAPS_DATABASE_URL": "mysql://user:password@host/x",
        "CAPS_POLICY_PATH": str(tmp_path / "absent.json"),
    }
    done = caps(tmp_path, "config", "check", "--json", **wrong)
    found = json.loads(done.stdout)["problems"]
    assert (done.returncode, len(found)) == (7, 5)
    assert "password" not in done.stdout
    bad_file = caps(tmp_path, "config", "check", CAPS_CONFIG=str(tmp_path / "absent.toml"))
    assert (bad_file.returncode, bad_file.stdout.count("\n")) == (7, 1)


def test_the_registry_of_a_configuration_file_is_used(tmp_path: Path) -> None:
    """As if the variable were set."""
    (tmp_path / "mine.py").write_text(
        "from caps import CapabilityRegistry\nregistry = CapabilityRegistry()\n"
        "@registry.capability('stock.lookup')\nasync def lookup(sku: str) -> str:\n    return sku\n"
    )
    (tmp_path / "caps.toml").write_text('registry = "mine:registry"\n')
    variables = {"CAPS_CONFIG": str(tmp_path / "caps.toml"), "PYTHONPATH": str(tmp_path)}
    listed = caps(tmp_path, "functions", "--json", **variables)
    assert [each["name"] for each in json.loads(listed.stdout)] == ["stock.lookup"]


@pytest.mark.parametrize("command", ["functions", "audit verify", "approvals list", "db current"])
def test_a_configuration_file_that_cannot_be_used_ends_any_command(
    tmp_path: Path, command: str
) -> None:
    """In one line, before it does anything."""
    done = caps(tmp_path, *command.split(), CAPS_CONFIG=str(tmp_path / "absent.toml"))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "absent.toml` cannot be read" in done.stderr
