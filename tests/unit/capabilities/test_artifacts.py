"""Artifacts: their names and types, and the bounds of what one execution hands out."""

from __future__ import annotations

import hashlib

import pytest

from caps.capabilities.artifacts import (
    Artifact,
    ArtifactStore,
    guess_media_type,
    is_media_type,
    name_problem,
)
from caps.protocol.errors import LimitExceededError
from caps.security.policy import Limits


def artifact(name: str = "a.txt", content: bytes = b"abc") -> Artifact:
    return Artifact(name=name, media_type="text/plain", content=content)


@pytest.mark.parametrize("name", ["a", "plot.png", "Bericht über 2024.csv", "x" * 200, "a..b"])
def test_a_name_is_one_component_of_a_path(name: str) -> None:
    """Ordinary names pass, also those of other alphabets."""
    assert name_problem(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        ".bashrc",
        "a/b",
        "/etc/passwd",
        "a\\b",
        "a\0b",
        "a\nb",
        " a",
        "a ",
        "x" * 201,
        "é" * 101,
        "\ud800",
        "evil\u202egnp.exe",
        "\u200b",
    ],
)
def test_a_name_that_could_mean_something_else_is_refused(name: str) -> None:
    """No folders, no hidden files, nothing that a terminal obeys, nothing too long for a disk."""
    assert name_problem(name) is not None
    with pytest.raises(ValueError, match="the name of an artifact"):
        artifact(name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("image/png", True),
        ("application/vnd.ms-excel", True),
        ("image/svg+xml", True),
        ("image", False),
        ("image/", False),
        ("/png", False),
        ("image/png; charset=utf-8", False),
        ("image/png\n", False),
        ("a/b/c", False),
        ("a/" + "b" * 65, False),
    ],
)
def test_a_media_type_has_two_names(text: str, expected: bool) -> None:
    """Without parameters, and on one line."""
    assert is_media_type(text) is expected


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("plot.png", b"", "image/png"),
        ("r.csv", "", "text/csv"),
        ("page.html", "", "text/html"),
        ("data:text/html,x", b"", "application/octet-stream"),
        ("archive.tar.gz", b"", "application/octet-stream"),
        ("notes", "", "text/plain"),
        ("notes", b"", "application/octet-stream"),
    ],
)
def test_the_name_gives_the_media_type(name: str, content: bytes | str, expected: str) -> None:
    """What the name does not say follows from whether the content is text."""
    assert guess_media_type(name, content) == expected


def test_the_record_and_the_repr_have_no_content() -> None:
    """Size and digest are enough to recognise a file."""
    made = artifact(content=b"secret")
    assert made.record.sha256 == made.sha256 == hashlib.sha256(b"secret").hexdigest()
    assert (made.record.size, "secret" in repr(made)) == (6, False)


def test_a_store_is_bounded_by_count() -> None:
    """The next one is refused, and the error names the limit."""
    store = ArtifactStore(Limits(artifacts=2), "p")
    for number in range(2):
        store.add("artifacts.save", f"r{number}", artifact())
    with pytest.raises(LimitExceededError, match=r"over `limits.artifacts` of policy `p`, 2"):
        store.add("artifacts.save", "r3", artifact())
    assert len(store.artifacts) == 2


def test_a_store_is_bounded_by_bytes_of_all() -> None:
    """What would exceed it is not kept; a smaller one still fits."""
    store = ArtifactStore(Limits(artifact_bytes=10), "p")
    store.add("artifacts.save", "r1", artifact(content=b"x" * 6))
    with pytest.raises(LimitExceededError, match=r"limits.artifact_bytes"):
        store.add("artifacts.save", "r2", artifact(content=b"x" * 5))
    store.add("artifacts.save", "r3", artifact(content=b"x" * 4))
    assert [len(one.content) for one in store.artifacts] == [6, 4]
    assert store.records_of("r2") == []
    assert [one.size for one in store.records_of("r3")] == [4]


def test_limits_of_zero_hand_out_nothing() -> None:
    """Not even an empty file."""
    with pytest.raises(LimitExceededError):
        ArtifactStore(Limits(artifacts=0), "p").add("artifacts.save", "r", artifact(content=b""))
