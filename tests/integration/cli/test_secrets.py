"""`caps secrets`: values go in by standard input and never come out."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.commands import run_caps

VALUE = "a-value-that-nobody-sees"


def test_set_list_and_delete(tmp_path: Path) -> None:
    """By name; the file of the store does not have the value, and no output has."""
    steps = [
        (("list",), "", 0, "there are no secrets\n"),
        (("set", "github"), f"{VALUE}\n", 0, "the secret `github` is set\n"),
        (("set", "github"), f"{VALUE}-2\n", 0, "the secret `github` is set\n"),
        (("set", "mine", "--principal", "ada"), VALUE, 0, "the secret `mine` is set\n"),
        (("delete", "mine"), "", 2, ""),
        (("delete", "mine", "--principal", "ada"), "", 0, "the secret `mine` is deleted\n"),
    ]
    for arguments, stdin, code, output in steps:
        done = run_caps(tmp_path, "secrets", *arguments, stdin=stdin)
        assert (done.returncode, done.stdout) == (code, output), done.stderr
        assert VALUE not in done.stdout + done.stderr
    listed = json.loads(run_caps(tmp_path, "secrets", "list", "--json").stdout)
    assert [each["name"] for each in listed] == ["github"]
    assert run_caps(tmp_path, "secrets", "list").stdout.startswith("github  set 20")
    for file in (tmp_path / "caps").rglob("*"):
        assert not file.is_file() or VALUE.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    ("name", "stdin", "message"),
    [
        ("GitHub", VALUE, "`GitHub` is not a name of a secret"),
        ("../x", VALUE, "is not a name of a secret"),
        ("github", "short", "fewer than 8 characters"),
        ("github", "", "fewer than 8 characters"),
        ("github", "x" * 70_000, "is larger than"),
    ],
)
def test_what_cannot_be_set(tmp_path: Path, name: str, stdin: str, message: str) -> None:
    """One line, and nothing is created."""
    done = run_caps(tmp_path, "secrets", "set", name, stdin=stdin)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "caps" / "caps.db").exists()


def test_code_uses_a_secret_of_the_store(tmp_path: Path) -> None:
    """A principal's own comes before everybody's; without a store there is none."""
    policy = tmp_path / "policy.json"
    scopes = {"secrets": {"github": {"hosts": ["api.github.com"]}}}
    policy.write_text(json.dumps({"id": "p", "allow": ["secrets.handle"], "scopes": scopes}))
    program = tmp_path / "program.py"
    program.write_text("(await caps.secrets.handle(name='github'))[:12]")

    def run() -> subprocess.CompletedProcess[str]:
        return run_caps(
            tmp_path, "run", str(program), "--policy", str(policy), "--principal", "ada"
        )

    assert "there is no secret `github`" in run().stderr
    assert not (tmp_path / "caps" / "caps.db").exists()
    run_caps(tmp_path, "secrets", "set", "github", stdin=VALUE)
    assert "caps-secret-" in run().stdout
