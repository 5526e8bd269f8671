"""`caps db`, and `--session`."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from caps.store.migrate import newest_version
from support.commands import run_caps

NEWEST = newest_version()


def test_the_three_commands(tmp_path: Path) -> None:
    """What is there, what is needed, and whether it fits; the exit code says so, too."""
    steps = [
        (("current",), 0, f"empty (needed: {NEWEST})\n"),
        (("check",), 7, f"the schema is empty, and {NEWEST} is needed: run `caps db upgrade`\n"),
        (("upgrade", "--json"), 0, f'{{"before": null, "after": "{NEWEST}"}}\n'),
        (("upgrade",), 0, f"the schema is {NEWEST} already\n"),
        (("current", "--json"), 0, f'{{"current": "{NEWEST}", "needed": "{NEWEST}"}}\n'),
        (("check",), 0, "the store is as it should be\n"),
        (("check", "--json"), 0, '{"problems": []}\n'),
    ]
    run_caps(tmp_path, "db", "current")
    assert not (tmp_path / "caps").exists(), "asking creates nothing"
    for arguments, code, output in steps:
        done = run_caps(tmp_path, "db", *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (code, output, "")


def test_a_newer_schema_ends_the_command_in_one_line(tmp_path: Path) -> None:
    """With the code of a host that failed."""
    run_caps(tmp_path, "db", "upgrade")
    with sqlite3.connect(tmp_path / "caps" / "caps.db") as connection:
        connection.execute("update caps_schema set version_num = '9999'")
    connection.close()
    for command in ("upgrade", "check"):
        done = run_caps(tmp_path, "db", command)
        assert done.returncode == 6
        assert done.stderr.startswith("caps: the store `")
        assert "newer version of caps" in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_bad_url_is_bad_usage_without_its_password(tmp_path: Path) -> None:
    """By the option, or by the variable."""
    done = run_caps(tmp_path, "db", "check", "--url", "mysql://ann:hunter2@db/x")
    assert done.returncode == 2
    assert "names neither PostgreSQL nor SQLite" in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize("command", ["run", "repl"])
def test_a_session_is_named_on_the_command_line(tmp_path: Path, command: str) -> None:
    """Its files are there for the next command with the same name."""
    policy = tmp_path / "p.json"
    policy.write_text('{"allow": ["session_files.*"], "scopes": {"session_files": {}}}')
    options = ("--policy", str(policy), "--principal", "ann", "--session", "notes")
    file = ("-",) if command == "run" else ()
    code = "await caps.session_files.write('/a', 'x')\nNone\n"
    done = run_caps(tmp_path, command, *file, *options, stdin=code)
    assert (done.returncode, done.stderr) == (0, "")
    done = run_caps(tmp_path, "call", "session_files.read", '{"path": "/a"}', *options)
    assert json.loads(done.stdout)["content"] == "x"
    other = run_caps(tmp_path, "call", "session_files.list", *options[:-1], "other")
    assert json.loads(other.stdout)["count"] == 0
