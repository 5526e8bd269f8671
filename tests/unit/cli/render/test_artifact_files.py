"""Writing artifacts: new files in one directory, whatever their names and whatever is there."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from caps.capabilities.artifacts import Artifact
from caps.cli.render.artifact_files import ArtifactDirectory


def artifact(name: str, content: bytes = b"new") -> Artifact:
    return Artifact(name=name, media_type="text/plain", content=content)


def forged(name: str) -> Artifact:
    """One whose name was never checked."""
    made = artifact("x")
    msgspec.structs.force_setattr(made, "name", name)
    return made


def test_the_directory_is_made_and_holds_the_files(tmp_path: Path) -> None:
    """In order, under their names."""
    place = tmp_path / "out"
    files = ArtifactDirectory(place).write([artifact("a.txt", b"1"), artifact("b", b"2")])
    assert files == [place / "a.txt", place / "b"]
    assert [file.read_bytes() for file in files] == [b"1", b"2"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """A name that is taken gets a number, before its ending."""
    (tmp_path / "a.txt").write_text("old")
    files = ArtifactDirectory(tmp_path).write([artifact("a.txt"), artifact("a.txt"), artifact("a")])
    assert [file.name for file in files] == ["a-2.txt", "a-3.txt", "a"]
    assert (tmp_path / "a.txt").read_text() == "old"


@pytest.mark.parametrize("target", ["outside.txt", "missing.txt"])
def test_a_link_is_not_followed(tmp_path: Path, target: str) -> None:
    """Neither to a file that exists nor to one that does not."""
    (tmp_path / "outside.txt").write_text("old")
    place = tmp_path / "out"
    place.mkdir()
    (place / "a.txt").symlink_to(tmp_path / target)
    (file,) = ArtifactDirectory(place).write([artifact("a.txt")])
    assert file.name == "a-2.txt"
    assert (tmp_path / "outside.txt").read_text() == "old"
    assert not (tmp_path / "missing.txt").exists()


@pytest.mark.parametrize("name", ["../x", "/x", "..", "a/b", ".ssh"])
def test_a_name_that_leaves_the_directory_is_refused_here_too(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if whatever made the artifact did not look."""
    place = tmp_path / "out"
    with pytest.raises(SystemExit, match="6"):
        ArtifactDirectory(place).write([forged(name)])
    assert list(place.iterdir()) == []
    assert "cannot be written" in capsys.readouterr().err


def test_the_directory_stays_the_one_that_was_opened(tmp_path: Path) -> None:
    """A link that takes its place while the code runs changes nothing."""
    place, other = tmp_path / "out", tmp_path / "other"
    other.mkdir()
    opened = ArtifactDirectory(place)
    place.rename(tmp_path / "moved")
    place.symlink_to(other)
    opened.write([artifact("a")])
    assert list(other.iterdir()) == []
    assert [file.name for file in (tmp_path / "moved").iterdir()] == ["a"]


def test_a_file_in_its_place_is_bad_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Found out before any code runs."""
    (tmp_path / "out").write_text("")
    with pytest.raises(SystemExit, match="2"):
        ArtifactDirectory(tmp_path / "out")
    assert "cannot hold artifacts" in capsys.readouterr().err
