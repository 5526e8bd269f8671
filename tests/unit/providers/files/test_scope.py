"""The files scope: what the text of a payload settles, without touching a disk."""

from __future__ import annotations

import base64
import os.path
from pathlib import Path
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caps.providers.files.scope import MAX_BYTES_CEILING, FilesScope


def scope_of(*allowlist: str, **rest: Any) -> FilesScope:
    return FilesScope.model_validate({"allowlist": list(allowlist), **rest})


def rule_of(scope: FilesScope, function: str, **payload: Any) -> str | None:
    found = scope.violation(function, payload)
    return None if found is None else found.rule


class TestParsing:
    def test_a_json_list_is_an_allowlist(self) -> None:
        """JSON has no tuples; a list is taken, and stays immutable."""
        scope = FilesScope.model_validate_json('{"allowlist": ["./sandbox", "/data"]}')
        assert scope.allowlist == ("./sandbox", "/data")

    def test_the_defaults_are_one_mebibyte_and_writable(self) -> None:
        """What a policy leaves out is bounded anyway."""
        scope = scope_of("/data")
        assert (scope.read_only, scope.max_bytes) == (False, 1_048_576)

    @pytest.mark.parametrize(
        "wrong",
        [
            {},
            {"allowlist": []},
            {"allowlist": "/data"},
            {"allowlist": [""]},
            {"allowlist": [7]},
            {"allowlist": ["/da\0ta"]},
            {"allowlist": ["~/data"]},
            {"allowlist": ["/data"], "readonly": True},
            {"allowlist": ["/data"], "read_only": "yes"},
            {"allowlist": ["/data"], "read_only": 1},
            {"allowlist": ["/data"], "max_bytes": 0},
            {"allowlist": ["/data"], "max_bytes": "10"},
            {"allowlist": ["/data"], "max_bytes": MAX_BYTES_CEILING + 1},
        ],
    )
    def test_a_malformed_scope_is_an_error(self, wrong: dict[str, Any]) -> None:
        """A misspelt key or a wrong type never becomes a wider grant."""
        with pytest.raises(pydantic.ValidationError):
            FilesScope.model_validate(wrong)

    def test_relative_entries_are_anchored_to_the_policys_directory(self) -> None:
        """`anchored` makes every entry absolute and changes nothing else."""
        scope = scope_of("./sandbox", "/data/", "../shared", read_only=True, max_bytes=5)
        assert scope.violation("read", {"path": "x"}) is None  # fills what the scope remembers
        anchored = scope.anchored(Path("/etc/caps"))
        assert anchored.allowlist == ("/etc/caps/sandbox", "/data", "/etc/shared")
        assert (anchored.read_only, anchored.max_bytes) == (True, 5)
        place = anchored.place("x")
        assert place is not None
        assert place.root.entry == "/etc/caps/sandbox"

    def test_a_relative_base_still_anchors_absolutely(self) -> None:
        """A policy named by a relative path is as good as any other."""
        assert all(e.startswith("/") for e in scope_of("x").anchored(Path("here")).allowlist)


class TestPaths:
    scope = scope_of("/srv/work", "/srv/work/deep", "/data")

    @pytest.mark.parametrize(
        ("path", "root", "beneath", "shown"),
        [
            ("a.txt", "/srv/work", "a.txt", "a.txt"),
            ("./a//b/", "/srv/work", "a/b", "a/b"),
            ("..hidden", "/srv/work", "..hidden", "..hidden"),
            ("a/../b", "/srv/work", "a/../b", "a/../b"),
            (".", "/srv/work", ".", "."),
            ("/data/x", "/data", "x", "/data/x"),
            ("//data//x", "/data", "x", "/data/x"),
            ("/data", "/data", ".", "/data"),
            ("/srv/work/deep/x", "/srv/work/deep", "x", "/srv/work/deep/x"),
            ("/srv/work/deep/../x", "/srv/work", "deep/../x", "/srv/work/deep/../x"),
            ("/srv/work/deeper", "/srv/work", "deeper", "/srv/work/deeper"),
        ],
    )
    def test_a_path_inside_has_a_place(
        self, path: str, root: str, beneath: str, shown: str
    ) -> None:
        """Relative paths lie beneath the first entry, absolute ones beneath the longest."""
        place = self.scope.place(path)
        assert place is not None
        assert (place.root.entry, place.beneath, place.shown) == (root, beneath, shown)
        assert rule_of(self.scope, "stat", path=path) is None

    @pytest.mark.parametrize(
        "path",
        [
            "..",
            "../work/a",
            "a/../../b",
            "a/../../work/b",
            "/",
            "/etc/passwd",
            "/database/x",
            "/srv/workshop/x",
            "/srv",
            "/data/../etc/passwd",
            "/data/../data/x",
            "/other/../data/x",
            "a\0b",
            "\ud800",
            "bad\udcff",
        ],
    )
    @pytest.mark.parametrize("function", ["read", "write", "list", "stat", "delete"])
    def test_a_path_outside_is_refused(self, function: str, path: str) -> None:
        """No function reaches a path that leaves its directory, not even for a moment."""
        assert rule_of(self.scope, function, path=path, content="") == "allowlist"

    @pytest.mark.parametrize("function", ["read", "write", "delete"])
    def test_an_empty_path_names_no_file(self, function: str) -> None:
        """Nothing is not a file."""
        assert rule_of(self.scope, function, path="", content="") == "allowlist"

    def test_a_listing_without_a_path_is_of_the_first_directory(self) -> None:
        """`files.list()` needs no argument."""
        assert self.scope.violation("list", {}) is None

    @pytest.mark.parametrize("path", [".", "a/..", "/data", "/data/", "/srv/work/deep", "deep"])
    @pytest.mark.parametrize("function", ["write", "delete"])
    def test_an_allowed_directory_itself_cannot_be_changed(self, function: str, path: str) -> None:
        """The directories of the policy stay, however they are named."""
        assert rule_of(self.scope, function, path=path, content="") == "allowlist"

    def test_a_directory_that_holds_an_allowed_one_cannot_be_deleted(self) -> None:
        """Deleting around an allowed directory would delete it."""
        scope = scope_of("/srv", "/srv/a/b")
        assert rule_of(scope, "delete", path="a", recursive=True) == "allowlist"
        assert rule_of(scope, "delete", path="x/../a", recursive=True) == "allowlist"
        assert rule_of(scope, "delete", path="a/c", recursive=True) is None

    def test_the_whole_file_system_is_allowed_only_by_name(self) -> None:
        """`/` is a path like any other."""
        assert rule_of(scope_of("/"), "read", path="/etc/passwd") is None

    def test_a_refusal_is_one_legible_line(self) -> None:
        """Untrusted text in a message is escaped and cut."""
        found = self.scope.violation("read", {"path": "/etc/\n\x1b" + "x" * 9000})
        assert found is not None
        assert found.message.isprintable()
        assert len(found.message) < 400


class TestChanging:
    @pytest.mark.parametrize("function", ["write", "delete"])
    def test_read_only_refuses_changes(self, function: str) -> None:
        """A read-only scope refuses by its own rule, before it checks the path."""
        scope = scope_of("/data", read_only=True)
        assert rule_of(scope, function, path="/etc/x", content="") == "read_only"

    @pytest.mark.parametrize("function", ["read", "list", "stat"])
    def test_read_only_allows_looking(self, function: str) -> None:
        """A check changes nothing."""
        assert rule_of(scope_of("/data", read_only=True), function, path="x") is None

    @pytest.mark.parametrize(
        ("content", "encoding", "expected"),
        [
            ("12345678", "text", None),
            ("123456789", "text", "max_bytes"),
            ("ééé é", "text", "max_bytes"),
            ("éééé", "text", None),
            (base64.b64encode(b"12345678").decode(), "base64", None),
            (base64.b64encode(b"123456789").decode(), "base64", "max_bytes"),
            (base64.b64encode(b"1234567").decode(), "base64", None),
            ("\ud800\ud800", "text", None),
            ("A" * 10**7, "base64", "max_bytes"),
        ],
    )
    def test_content_is_measured_in_bytes(
        self, content: str, encoding: str, expected: str | None
    ) -> None:
        """The bound holds for what would reach the disk, exactly."""
        scope = scope_of("/data", max_bytes=8)
        assert rule_of(scope, "write", path="x", content=content, encoding=encoding) == expected

    @pytest.mark.parametrize("payload", [{"content": 5}, {}, {"content": "", "encoding": "zip"}])
    def test_content_that_cannot_be_measured_is_refused(self, payload: dict[str, Any]) -> None:
        """What is not understood is not allowed."""
        assert rule_of(scope_of("/data"), "write", path="x", **payload) == "max_bytes"

    def test_an_unknown_function_is_refused(self) -> None:
        """A function added later is not allowed by oversight."""
        assert rule_of(scope_of("/data"), "chmod", path="x") == "allowlist"


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
PATHS = st.lists(
    st.sampled_from(["", ".", "..", "a", "b", "..a", "data", "srv", "\0", "é", "\ud800"]),
    max_size=8,
).map("/".join)
FUNCTIONS = st.sampled_from(["read", "write", "list", "stat", "delete", "other"])
PAYLOADS = st.fixed_dictionaries(
    {},
    optional={"path": PATHS | JSON_LIKE, "content": JSON_LIKE, "encoding": JSON_LIKE},
)


@given(function=FUNCTIONS, payload=PAYLOADS | JSON_LIKE)
def test_a_violation_is_found_without_ever_raising(function: str, payload: Any) -> None:
    """Any JSON-like payload has an answer."""
    answer = scope_of("/data", "/srv/a").violation(function, payload)
    assert answer is None or answer.rule in FilesScope.model_fields


@given(function=FUNCTIONS, path=PATHS)
def test_an_allowed_path_stays_inside_by_its_text(function: str, path: str) -> None:
    """A path without a violation, put after its directory and normalised, is still in it."""
    scope = scope_of("/data", "/srv/a")
    if scope.violation(function, {"path": path, "content": ""}) is not None:
        return
    normal = os.path.normpath(path)
    if path.startswith("/"):
        assert any((normal + "/").replace("//", "/").startswith(r) for r in ("/data/", "/srv/a/"))
    else:
        assert normal != ".."
        assert not normal.startswith("../")
