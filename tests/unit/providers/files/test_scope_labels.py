"""(7) Labels of directories in the `files` scope, by text and by where a path leads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from caps import builtin_registry
from caps.capabilities.provider import ProviderError
from caps.protocol.errors import PolicyInvalidError
from caps.providers.files import read, write
from caps.providers.files.resolve import opened_target
from caps.providers.files.scope import FilesScope
from caps.security.review.width import Breadth
from caps.security.scopes import AllScopes
from support.file_calls import context_of, file_call


def scope_of(**given: Any) -> FilesScope:
    return FilesScope.model_validate({"allowlist": ["/data"], **given})


LABELLED = scope_of(labels={"/data/hr": ["private"], "/data/hr/raw": ["raw"], "/": ["all"]})


@pytest.mark.parametrize(
    ("path", "labels"),
    [
        ("/data/menu", {"all"}),
        ("menu", {"all"}),
        ("/data/hr", {"all", "private"}),
        ("hr/x", {"all", "private"}),
        ("/data/hr/raw/x/y", {"all", "private", "raw"}),
        ("/data/menu/../hr/x", {"all", "private"}),
        ("/data/hr/../menu", {"all"}),
        ("/data/hrx", {"all"}),
        ("/etc/passwd", set()),
    ],
)
def test_every_directory_that_contains_a_path_labels_it(path: str, labels: set[str]) -> None:
    """Compared by components, with `..` resolved."""
    for function in ("read", "list", "stat", "write", "delete"):
        assert LABELLED.labels_for(function, {"path": path}) == labels


def test_the_default_of_a_listing_is_the_first_directory() -> None:
    """And a scope without labels gives none."""
    scope = scope_of(labels={"/data": ["private"]})
    assert scope.labels_for("list", {}) == {"private"}
    assert scope_of().labels_for("read", {"path": "x"}) == frozenset()
    assert LABELLED.possible_labels("read") == {"private", "raw", "all"}


def test_relative_directories_start_where_the_policy_is() -> None:
    """Two names of one directory add their labels."""
    given = {"allowlist": ["./data"], "labels": {"./data/hr": ["private"], "data/hr/": ["hr"]}}
    scope = FilesScope.model_validate(given).anchored(Path("/base"))
    assert scope.labels == {"/base/data/hr": ("hr", "private")}


@pytest.mark.parametrize("entry", ["./dta/hr", "/other", "~/hr", ""])
def test_a_directory_that_labels_nothing_is_an_error(entry: str) -> None:
    """A misspelt directory would leave everything unlabelled."""
    scopes = {"files": {"allowlist": ["./data"], "labels": {entry: ["private"]}}}
    with pytest.raises(PolicyInvalidError) as caught:
        builtin_registry().bind({"allow": ["files.read"], "scopes": scopes})
    assert caught.value.details["place"].startswith("scopes.files.labels")


def test_a_scope_without_labels_has_the_digest_that_it_always_had() -> None:
    """Logs hold it."""
    assert scope_of().model_dump_json() == (
        '{"allowlist":["/data"],"read_only":false,"max_bytes":1048576}'
    )


@pytest.mark.parametrize(
    ("older", "newer", "width"),
    [
        ({"/data/hr": ["private"]}, {}, Breadth.WIDER),
        ({}, {"/data/hr": ["private"]}, Breadth.NARROWER),
        ({"/data/hr": ["private"]}, {"/data": ["private"]}, Breadth.NARROWER),
        ({"/data/hr": ["private"]}, {"/data/hr": ["raw"]}, Breadth.MIXED),
        ({"/data/hr": ["private"]}, {"/data/hr": ["private"]}, Breadth.SAME),
    ],
)
def test_fewer_labels_are_wider(older: Any, newer: Any, width: Breadth) -> None:
    """Flow rules apply to less."""
    assert scope_of(labels=older).widths_to(scope_of(labels=newer))["labels"] is width


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "data" / "hr").mkdir(parents=True)
    (tmp_path / "data" / "hr" / "pay.txt").write_text("90")
    (tmp_path / "data" / "menu.txt").write_text("soup")
    (tmp_path / "data" / "link.txt").symlink_to("hr/pay.txt")
    (tmp_path / "data" / "folder").symlink_to("hr")
    (tmp_path / "other").symlink_to("data/hr")
    return tmp_path


WAYS: list[tuple[Callable[..., Any], str]] = [
    (read.read, "link.txt"),
    (read.read, "folder/pay.txt"),
    (read.read, "folder/none.txt"),
    (read.stat_file, "link.txt"),
    (read.stat_file, "folder/none.txt"),
    (read.list_directory, "folder"),
    (write.delete, "folder/none.txt"),
]


@pytest.mark.parametrize(
    ("function", "path"), WAYS, ids=lambda part: getattr(part, "__name__", part)
)
def test_the_place_counts_where_a_link_leads(
    tree: Path, function: Callable[..., Any], path: str
) -> None:
    """Also if there is nothing: that is an answer about the place."""
    data = tree / "data"
    context = file_call("files.x", data, labels={str(data / "hr"): ["private"]})
    with suppress(ProviderError):
        function(context, path)
    assert context.added == {"private"}


def test_a_labelled_directory_counts_under_its_other_name(tree: Path) -> None:
    """The label is that of the directory, not of the way that the policy names it."""
    labels = {str(tree / "other"): ["private"]}
    for path in ("hr/pay.txt", "link.txt"):
        context = file_call("files.read", tree / "data", tree / "other", labels=labels)
        read.read(context, path)
        assert context.added == {"private"}
    context = file_call("files.read", tree / "data", tree / "other", labels=labels)
    read.read(context, "menu.txt")
    assert context.added == set()


def test_the_labels_of_every_policy_count(tree: Path) -> None:
    """By text and by place, also where relative paths start elsewhere."""
    ceiling = scope_of(allowlist=[str(tree)], labels={str(tree / "data" / "hr"): ["private"]})
    own = scope_of(allowlist=[str(tree / "data")], labels={str(tree / "data"): ["mine"]})
    scope = AllScopes(parts=(ceiling.following(own), own), policy_ids=("ceiling", "own"))
    assert scope.labels_for("read", {"path": "hr/pay.txt"}) == {"private", "mine"}
    assert scope.labels_for("read", {"path": "link.txt"}) == {"mine"}
    assert scope.possible_labels("read") == {"private", "mine"}
    context = context_of("files.read", scope)
    read.read(context, "link.txt")
    assert context.added == {"private", "mine"}


def test_what_was_opened_counts_if_the_link_changes_meanwhile(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The descriptor tells, whatever the name led to a moment before."""
    link = tree / "data" / "swap.txt"
    link.symlink_to("menu.txt")

    def swapped(target: Any) -> Any:
        link.unlink()
        link.symlink_to("hr/pay.txt")
        return opened_target(target)

    monkeypatch.setattr(read, "opened_target", swapped)
    data = tree / "data"
    context = file_call("files.read", data, labels={str(data / "hr"): ["private"]})
    assert read.read(context, "swap.txt")["content"] == "90"
    assert context.added == {"private"}
