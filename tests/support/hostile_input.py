"""Hostile files and values for the command line, and the rule that every command keeps."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import ITIMER_REAL, SIGALRM, setitimer, signal
from typing import Any

from caps.cli.audit import EXIT_CODES, PROOF_EXIT_CODES
from caps.cli.exits import ExitCode

DOCUMENTED = {int(code) for code in ExitCode} | {*EXIT_CODES.values(), *PROOF_EXIT_CODES.values()}
# A command that takes longer hangs: each of these ends in a moment.
_HANGS_SECONDS = 60
POLICY = {"id": "ok", "allow": ["files.read"], "scopes": {"files": {"allowlist": ["./sandbox"]}}}

NUMBERS = ("0", "-1", "1.5", "x", "", "1" * 30, "9" * 5000, "2147483648", "0x10", "\u0661", "nan")
TEXTS = ("", " ", "\x1b[2J", "a\nb", "\u202e", "\udcff", "x" * 100_000, "../..", "-", "--", "a:b:c")
JSON_TEXTS = (
    "",
    "{",
    "[]",
    "null",
    "NaN",
    "1" * 5000,
    "[" * 100_000,
    '{"a": ' * 5000,
    '{"path": "' + "/a" * 40_000 + '"}',
    '{"path": "\\ud800"}',
    '{"path": ' + "1" * 400 + "}",
    '{"a": 1, "a": 2}',
)


def hostile_files(directory: Path) -> dict[str, str]:
    """Paths by their kind; what can be made is in `directory`."""
    made = {
        name: directory / name
        for name in ("pipe", "loop", "folder", "empty", "binary", "huge", "deep", "odd", "lines")
    }
    os.mkfifo(made["pipe"])
    made["loop"].symlink_to("loop")
    made["folder"].mkdir()
    made["empty"].touch()
    made["binary"].write_bytes(bytes(range(256)) * 64)
    with made["huge"].open("wb") as file:
        file.truncate(2**40)  # without blocks
    made["deep"].write_text("[" * 200_000)
    made["odd"].write_text(json.dumps([POLICY, None, {"v": 1}]))
    made["lines"].write_text("{}\n" * 1000)
    strange = directory / "\x1b[31m\nname"
    strange.write_text("{}")
    unencodable = os.fsdecode(os.fsencode(directory) + b"/\xff\xfe")
    Path(unencodable).write_text("{}")
    (directory / "pipe.log").mkdir()
    os.mkfifo(directory / "pipe.log" / "audit-000001.jsonl")
    bad_log = directory / "bad.log"
    bad_log.mkdir()
    (bad_log / "audit-000001.jsonl").write_bytes(b"x" * 100_000 + b"\n")
    (bad_log / "signing.pub").symlink_to("/dev/zero")
    (bad_log / "redaction.key").symlink_to("/dev/zero")
    os.mkfifo(bad_log / "checkpoints.jsonl")
    listening = directory / "socket"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.path.relpath(listening))
    return {
        **{name: str(path) for name, path in made.items()},
        "escapes": str(strange),
        "bytes": unencodable,
        "log with a pipe": str(directory / "pipe.log"),
        "bad log": str(bad_log),
        "socket": str(listening),
        "missing": str(directory / "missing"),
        "in a file": str(made["empty"] / "x"),
        "long name": str(directory / ("n" * 300)),
        "long path": str(directory) + "/d" * 3000,
        "very long path": "/" + "d/" * 30_000,
        "nothing": "",
        "endless": "/dev/zero",
        "full": "/dev/full",
        "null": "/dev/null",
        "memory": "/proc/self/mem",
        "map": "/proc/self/pagemap",
        "kernel": "/proc/kmsg",
        "process": "/proc/self",
    }


@contextmanager
def no_hang() -> Iterator[None]:
    """Fail instead of waiting for ever."""

    def fail(*_: Any) -> None:
        raise AssertionError("the command hangs")

    before = signal(SIGALRM, fail)
    setitimer(ITIMER_REAL, _HANGS_SECONDS)
    try:
        yield
    finally:
        setitimer(ITIMER_REAL, 0)
        signal(SIGALRM, before)


def check_rule(code: int, stdout: str, stderr: str) -> None:
    """One line, a documented exit code, no traceback, and nothing that a terminal obeys."""
    assert code in DOCUMENTED, stderr
    assert "Traceback" not in stderr + stdout
    assert "\x1b" not in stderr + stdout
    lines = [line for line in stderr.splitlines() if not line.startswith("caps: warning:")]
    if code == ExitCode.BAD_USAGE and lines and lines[0].startswith("Usage:"):
        # The form of `click`: the usage, a hint, and the error as its last line.
        assert [line[:6] for line in lines[2:]] == ["", "Error:"], stderr
        return
    failures = [line for line in lines if line.startswith("caps: ")]
    assert len(failures) <= 1, stderr
    assert all(len(line) < 10_000 for line in lines)
    if code == ExitCode.HOST_FAILED or code == ExitCode.POLICY_INVALID:
        assert failures, stderr
