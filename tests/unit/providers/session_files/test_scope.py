"""The scope of session files: pure rules, and answers for reviewers."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from caps.providers.session_files.scope import MAX_FILE_BYTES, SessionFilesScope
from caps.security.review.scope_answers import ObservedArguments
from caps.security.review.width import Breadth

SCOPE = SessionFilesScope(max_file_bytes=4, max_depth=2)


def rule(scope: SessionFilesScope, function: str, **payload: Any) -> str | None:
    found = scope.violation(function, payload)
    return None if found is None else found.rule


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"path": "/a/b", "content": "1234"}, None),
        ({"path": "/a/b", "content": "12345"}, "max_file_bytes"),
        ({"path": "/a/b", "content": "ééé"}, "max_file_bytes"),
        ({"path": "/a/b", "content": "MTIzNA==", "encoding": "base64"}, None),
        ({"path": "/a/b", "content": "MTIzNDU=", "encoding": "base64"}, "max_file_bytes"),
        ({"path": "/a/b/c", "content": ""}, "max_depth"),
        ({"path": "/a//./b/", "content": ""}, None),
        ({"path": "relative", "content": ""}, None),
        ({"path": 5, "content": 5}, None),
        ({}, None),
    ],
)
def test_a_write_is_bounded(payload: dict[str, Any], expected: str | None) -> None:
    """What is not valid at all is left to the schema and the provider, which say why."""
    assert rule(SCOPE, "write", **payload) == expected


@pytest.mark.parametrize("function", ["delete", "write"])
def test_read_only_refuses_changes(function: str) -> None:
    """And nothing else."""
    scope = SessionFilesScope(read_only=True)
    assert rule(scope, function, path="/a", content="") == "read_only"
    assert scope.never(function) == "read_only"
    for reading in ("grep", "list", "read", "stat"):
        assert rule(scope, reading, path="/a") is None
        assert scope.never(reading) is None


def test_an_unknown_function_is_refused() -> None:
    """A function that is added later is not open by accident."""
    assert rule(SessionFilesScope(), "move", path="/a") == "read_only"


@given(st.text(max_size=40), st.dictionaries(st.text(max_size=8), st.integers() | st.text()))
def test_a_violation_never_raises(function: str, payload: dict[str, Any]) -> None:
    """Whatever is asked."""
    for each in (function, "write"):
        SCOPE.violation(each, payload)


@given(st.binary(max_size=12))
def test_the_size_of_base64_is_that_of_its_bytes(data: bytes) -> None:
    """Neither too small nor too large."""
    content = base64.b64encode(data).decode()
    found = rule(SCOPE, "write", path="/a", content=content, encoding="base64")
    assert (found == "max_file_bytes") == (len(data) > 4)


@pytest.mark.parametrize(
    "scope",
    [
        {"max_files": 0},
        {"max_depth": 65},
        {"max_file_bytes": MAX_FILE_BYTES + 1},
        {"max_total_bytes": "1"},
        {"max_file_byte": 1},
    ],
)
def test_a_misspelt_or_impossible_scope_is_an_error(scope: dict[str, Any]) -> None:
    """It never becomes a wider grant."""
    with pytest.raises(ValidationError):
        SessionFilesScope.model_validate(scope)


def test_reviewers_get_answers() -> None:
    """How two scopes compare, what would allow a payload, and what calls need."""
    wider = SCOPE.widths_to(SessionFilesScope(max_file_bytes=5, max_depth=1, read_only=True))
    assert wider == {
        "read_only": Breadth.NARROWER,
        "max_file_bytes": Breadth.WIDER,
        "max_total_bytes": Breadth.SAME,
        "max_files": Breadth.SAME,
        "max_depth": Breadth.NARROWER,
    }
    large = SCOPE.change_for("write", {"path": "/a", "content": "12345"})
    assert large is not None
    assert (large.key, large.value) == ("max_file_bytes", 5)
    deep = SCOPE.change_for("write", {"path": "/a/b/c", "content": ""})
    assert deep is not None
    assert (deep.key, deep.value) == ("max_depth", 3)
    assert SCOPE.change_for("write", {"path": "/a", "content": ""}) is None
    shut = SessionFilesScope(read_only=True).change_for("delete", {"path": "/a"})
    assert shut is not None
    assert (shut.key, shut.value) == ("read_only", False)
    reads = [ObservedArguments("read", {"path": "/a"})]
    writes = [*reads, ObservedArguments("write", {"path": "/a"})]
    learnt = [SessionFilesScope.covering(calls, None) for calls in (reads, writes)]
    assert [found and found.scope for found in learnt] == [{"read_only": True}, {}]
    held = SessionFilesScope.covering(writes, SCOPE)
    assert held is not None
    assert SessionFilesScope.model_validate(held.scope) == SCOPE
