"""A path is checked before each write: one call of the system, by either of two."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from caps.protocol.disk import path_check as module
from caps.protocol.disk.path_check import PathCheck, path_check


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of three bytes."""
    path = tmp_path / "directory" / "file"
    path.parent.mkdir()
    path.write_bytes(b"abc")
    return path


@pytest.fixture
def fd(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDWR)
    yield fd
    os.close(fd)


@pytest.fixture(params=[module._by_statx, module._by_stat], ids=["statx", "stat"])
def check(request: pytest.FixtureRequest, path: Path, fd: int) -> PathCheck:
    """By one call of the system, and by the other."""
    made: PathCheck | None = request.param(str(path), fd)
    assert made is not None
    return made


def test_a_path_leads_to_its_file(check: PathCheck, fd: int) -> None:
    """With the size of now, whatever it was."""
    assert check(3)
    assert not check(2)
    os.pwrite(fd, b"d", 3)
    assert check(4)
    assert not check(3)
    os.ftruncate(fd, 0)
    assert check(0)
    assert not check(4)


def _removed(path: Path) -> None:
    path.unlink()


def _moved(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def _replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.rename(path)


def _of_a_moved_directory(path: Path) -> None:
    path.parent.rename(path.parent.with_name("elsewhere"))


def _of_another_directory(path: Path) -> None:
    content = path.read_bytes()
    _of_a_moved_directory(path)
    path.parent.mkdir()
    path.write_bytes(content)


def _a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


CHANGES = [_removed, _moved, _replaced, _of_a_moved_directory, _of_another_directory, _a_directory]


@pytest.mark.parametrize("change", CHANGES)
def test_a_path_that_leads_elsewhere_is_noticed(
    check: PathCheck, path: Path, change: Callable[[Path], None]
) -> None:
    """Though what is there has the same size; also after it was right before."""
    assert check(3)
    change(path)
    assert not check(3)
    assert not check(3)


def test_a_link_leads_to_its_file(check: PathCheck, path: Path) -> None:
    """As for every reader of the path."""
    moved = path.with_name("elsewhere")
    path.rename(moved)
    path.symlink_to(moved)
    assert check(3)


def test_a_file_that_was_put_back_is_there_again(check: PathCheck, path: Path) -> None:
    """The answer is about now, and does not remember."""
    moved = path.with_name("elsewhere")
    path.rename(moved)
    assert not check(3)
    moved.rename(path)
    assert check(3)


def test_without_statx_there_is_stat(path: Path, fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an old C library, and on another system."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: SimpleNamespace())
    assert module._by_statx(str(path), fd) is None
    assert path_check(str(path), fd)(3)


@pytest.mark.parametrize("answer", [-1, 0], ids=["refused", "empty"])
def test_a_statx_that_says_something_else_is_not_used(
    path: Path, fd: int, monkeypatch: pytest.MonkeyPatch, answer: int
) -> None:
    """A sandbox around the host may refuse it, and a file system may not know the numbers."""

    def statx(*_args: Any) -> int:
        return answer

    monkeypatch.setattr(ctypes, "CDLL", lambda _name: SimpleNamespace(statx=statx))
    assert module._by_statx(str(path), fd) is None
    assert path_check(str(path), fd)(3)


def test_a_file_that_was_replaced_before_the_first_check_is_noticed(path: Path, fd: int) -> None:
    """The check is for the open file, not for what the path leads to."""
    _replaced(path)
    assert not path_check(str(path), fd)(3)
