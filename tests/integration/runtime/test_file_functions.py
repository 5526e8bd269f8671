"""The functions of `files` from code in a worker and by single calls, with the same records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from caps import MemoryAuditLog, Runtime, builtin_registry
from caps.security.audit import DecisionMade, OutcomeRecorded

pytestmark = pytest.mark.anyio

GOOD: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("grep", {"pattern": "^t", "path": "."}, {"match_count": 2, "truncated": False}),
    ("grep", {"pattern": "T", "path": "a.txt", "ignore_case": True}, {"match_count": 2}),
    ("glob", {"pattern": "**/*.txt"}, {"paths": ["a.txt", "deep/b.txt"], "count": 2}),
    ("copy", {"path": "a.txt", "to": "new/c.txt"}, {"size_bytes": 14, "created": True}),
    ("move", {"path": "a.txt", "to": "c.txt"}, {"size_bytes": 14, "created": True}),
    ("read", {"path": "a.txt", "first_line": 2, "last_line": 2}, {"content": "two\n"}),
    ("read", {"path": "a.txt", "offset": 4, "length": 3}, {"content": "two", "more": True}),
]
BAD: list[tuple[str, dict[str, Any], str]] = [
    ("grep", {"pattern": "("}, "`pattern` is not valid"),
    ("grep", {"pattern": "x" * 1001}, "pattern"),
    ("glob", {"pattern": "../*"}, "must be relative"),
    ("glob", {"pattern": "*", "path": "/etc"}, "outside the allowed directories"),
    ("copy", {"path": ".env", "to": "x"}, "denied by `**/.env`"),
    ("copy", {"path": "a.txt", "to": "deep/.env"}, "denied by `**/.env`"),
    ("copy", {"path": "a.txt", "to": "deep/b.txt"}, "exists; set `overwrite`"),
    ("move", {"path": "deep", "to": "x"}, "is a directory"),
    ("move", {"path": "a.txt", "to": "../x"}, "outside the allowed directories"),
    ("read", {"path": "a.txt", "first_line": 0}, "first_line"),
    ("read", {"path": "a.txt", "first_line": 1, "offset": 0}, "not by both"),
]


def place(tmp_path: Path) -> Path:
    root = tmp_path / "files"
    (root / "deep").mkdir(parents=True)
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "deep" / "b.txt").write_text("four")
    (root / ".env").write_text("two secrets")
    return root


def policy(root: Path) -> dict[str, Any]:
    scope = {"allowlist": [str(root)], "denylist": ["**/.env"]}
    return {"id": "filer", "allow": ["files.*"], "scopes": {"files": scope}}


@pytest.mark.parametrize(("name", "payload", "expected"), GOOD)
async def test_the_same_answer_and_records_from_code_and_by_a_call(
    tmp_path: Path, name: str, payload: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Only the channel differs."""
    records = []
    for way in ("code", "call"):
        root, audit = place(tmp_path / way), MemoryAuditLog()
        registry = builtin_registry(plugins="off")
        async with Runtime(policy(root), registry=registry, audit=audit) as runtime:
            if way == "code":
                code = f"await caps.files.{name}(**payload)"
                answer = (await runtime.run(code, inputs={"payload": payload})).unwrap()
            else:
                answer = (await runtime.call(f"files.{name}", payload)).unwrap()
        assert {key: answer[key] for key in expected} == expected
        events = [record.event for record in audit.records]
        records.append(
            [
                (type(event).__name__, event.capability, getattr(event, "shown", None))
                for event in events
                if isinstance(event, DecisionMade | OutcomeRecorded)
            ]
        )
    assert records[0] == records[1]
    assert [kind for kind, _, _ in records[0]] == ["DecisionMade", "OutcomeRecorded"]


@pytest.mark.parametrize(("name", "payload", "said"), BAD)
async def test_bad_input_is_refused_in_one_line(
    tmp_path: Path, name: str, payload: dict[str, Any], said: str
) -> None:
    """With the place or the reason, and nothing is changed."""
    root = place(tmp_path)
    before = sorted(str(each) for each in root.rglob("*"))
    registry = builtin_registry(plugins="off")
    async with Runtime(policy(root), registry=registry, audit=MemoryAuditLog()) as runtime:
        by_call = await runtime.call(f"files.{name}", payload)
        by_code = await runtime.run(
            f"try:\n    await caps.files.{name}(**payload)\nexcept Exception as error:\n"
            "    print(error)",
            inputs={"payload": payload},
        )
    assert by_call.error is not None
    assert said in by_call.error.message
    assert said in by_code.stdout
    assert str(tmp_path) not in by_call.error.message
    assert sorted(str(each) for each in root.rglob("*")) == before
