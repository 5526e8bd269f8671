"""Memory in large pages: what is moved and what is not, and that its content stays the same."""

import mmap
import re
import struct
from pathlib import Path

import anyio
import pytest

from caps.worker.host.memory import large_pages
from caps.worker.host.memory.large_pages import (
    is_dense,
    keep_in_large_pages,
    large_ranges,
    move_to_large_pages,
)

LARGE = 2 * 1024 * 1024
PRESENT, ABSENT = struct.pack("=Q", 1 << 63), struct.pack("=Q", 0)


def test_only_private_memory_of_no_file_is_moved() -> None:
    lines = [
        "00400000-00a00000 rw-p 00000000 00:00 0                          [heap]",
        "00c00000-00e00000 rw-p 00000000 00:00 0 ",
        "01000000-01200000 r--p 00000000 00:00 0 ",
        "01200000-01400000 rw-s 00000000 00:01 7                          /dev/zero (deleted)",
        "01400000-01600000 rw-p 00000000 08:01 5                          /usr/lib/a library.so",
        "01800000-01a00000 rw-p 00000000 00:00 0                          [stack]",
    ]
    assert list(large_ranges(lines)) == [0x400000, 0x600000, 0x800000, 0xC00000]


def test_a_large_page_lies_within_its_memory() -> None:
    assert list(large_ranges(["00401000-009ff000 rw-p 00000000 00:00 0 "])) == [0x600000]
    assert list(large_ranges(["00401000-005ff000 rw-p 00000000 00:00 0 "])) == []


def test_memory_that_is_mostly_unused_is_not_moved() -> None:
    """It would get larger: a large page is in memory as a whole."""
    assert is_dense(PRESENT * 384 + ABSENT * 128)
    assert not is_dense(PRESENT * 383 + ABSENT * 129)
    assert not is_dense(b"")


def test_the_content_stays_the_same() -> None:
    memory = mmap.mmap(-1, 4 * LARGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory[:] = b"caps" * LARGE
    assert 0 <= move_to_large_pages() <= 32
    assert memory[:] == b"caps" * LARGE
    memory.close()


def test_an_operator_can_turn_it_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    setting = tmp_path / "enabled"
    setting.write_text("always madvise [never]\n")
    monkeypatch.setattr(large_pages, "_SETTING", setting)
    assert move_to_large_pages() == 0
    monkeypatch.setattr(large_pages, "_SETTING", tmp_path / "missing")
    assert move_to_large_pages() == 0


@pytest.mark.anyio
async def test_it_is_done_again_when_more_was_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[int] = []
    monkeypatch.setattr(large_pages, "_WAITS", (0.0, 0.0))
    monkeypatch.setattr(large_pages, "move_to_large_pages", lambda: moved.append(1))
    with anyio.fail_after(10):
        await keep_in_large_pages()
    assert moved == [1, 1]


def test_the_setting_of_this_machine_can_be_read() -> None:
    """Else nothing is ever moved."""
    if not large_pages._SETTING.exists():
        pytest.skip("the kernel has no large pages")
    assert re.search(r"\[\w+\]", large_pages._SETTING.read_text())
