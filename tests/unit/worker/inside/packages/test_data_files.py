"""Files in memory under their old paths: for reading, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from caps.worker.inside.packages import data_files


def system(*arguments: Any, **_keywords: Any) -> Any:
    """What the sandbox answers."""
    raise PermissionError(1, "Operation not permitted", arguments[0])


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with two files that are kept; then it is gone."""
    monkeypatch.setattr(data_files, "_contents", {})
    monkeypatch.setattr(data_files, "_status", {})
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "table.csv").write_bytes(b"a,b\n1,\xc3\xa9\n")
    (tmp_path / "other.txt").write_text("not kept")
    data_files.keep(tmp_path, "*.csv")
    return tmp_path


def test_a_kept_file_is_read_as_text_and_as_bytes(kept: Path) -> None:
    """By a string or a path, in another spelling, with the options of `open`."""
    opened = data_files._opening(system)
    file = kept / "deep" / "table.csv"
    assert opened(file, "rb").read() == b"a,b\n1,\xc3\xa9\n"
    assert opened(str(file)).read() == "a,b\n1,é\n"
    assert opened(f"{kept}/deep/../deep/table.csv", "rt").readline() == "a,b\n"
    assert opened(file, "r", -1, "latin-1").read() == "a,b\n1,Ã©\n"
    assert opened(file, encoding="ascii", errors="replace").read() == "a,b\n1,��\n"
    assert opened(file, "rb").name == str(file)
    data_files.keep_as("/lines", b"a\r\nb", file.stat())
    assert opened("/lines", newline="").read() == "a\r\nb"
    assert opened("/lines").read() == "a\nb"


def test_what_is_read_cannot_be_changed(kept: Path) -> None:
    """Each opening is a copy; writing goes to the system, which refuses."""
    opened = data_files._opening(system)
    file = kept / "deep" / "table.csv"
    opened(file, "rb").write(b"xxx")
    assert opened(file, "rb").read(3) == b"a,b"
    for mode in ("w", "a", "r+", "x", "wb"):
        with pytest.raises(PermissionError):
            opened(file, mode)


@pytest.mark.parametrize("file", ["other.txt", "deep", "", b"table.csv", 3, None])
def test_anything_else_goes_to_the_system(kept: Path, file: Any) -> None:
    """A path that is not kept, a descriptor, and what is no path at all."""
    path = kept / file if isinstance(file, str) else file
    with pytest.raises(PermissionError):
        data_files._opening(system)(path)
    with pytest.raises(PermissionError):
        data_files._reporting(system)(path)


def test_a_kept_file_is_found(kept: Path) -> None:
    """`os.path.isfile` and others ask for its status."""
    found = data_files._reporting(system)(str(kept / "deep" / "table.csv"))
    assert isinstance(found, os.stat_result)
    assert found.st_size == 9


def test_a_worker_does_not_carry_files_without_end(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All packages together have a limit."""
    monkeypatch.setattr(data_files, "_MAX_BYTES", 15)
    with pytest.raises(data_files.TooManyFilesError, match="more than 15 bytes"):
        data_files.keep(kept, "*.txt")
