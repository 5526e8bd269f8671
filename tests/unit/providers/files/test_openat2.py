"""Opening beneath a directory: what the kernel refuses, and what opening must not do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from caps.capabilities.provider import ProviderError, ScopeViolationError
from caps.providers.files import openat2 as beneath
from caps.providers.files.openat2 import open_beneath, opened_beneath, opened_root


@pytest.fixture
def root(tmp_path: Path) -> Iterator[int]:
    """A directory with a file, links of every kind, and a secret next to it."""
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "sub" / "file").write_text("public")
    (tmp_path / "secret").write_text("secret")
    (inside / "to_sub").symlink_to("sub")
    (inside / "sub" / "up_and_in").symlink_to("../sub/file")
    (inside / "out").symlink_to("../secret")
    (inside / "out_dir").symlink_to("..")
    (inside / "absolute").symlink_to(tmp_path / "secret")
    (inside / "absolute_in").symlink_to(inside / "sub" / "file")
    (inside / "circle").symlink_to("circle")
    with opened_root(str(inside)) as descriptor:
        yield descriptor


@pytest.mark.parametrize(
    "path", ["sub/file", "to_sub/file", "sub/up_and_in", "sub/../sub/file", "./sub//file"]
)
def test_a_path_that_stays_inside_is_opened(root: int, path: str) -> None:
    """Links and `..` work as long as they stay beneath."""
    with opened_beneath(root, path, os.O_RDONLY) as descriptor:
        assert os.read(descriptor, 100) == b"public"


@pytest.mark.parametrize(
    "path",
    [
        "out",
        "out_dir/secret",
        "absolute",
        "absolute_in",
        "..",
        "../secret",
        "/etc/passwd",
        "circle",
    ],
)
@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_PATH, os.O_WRONLY | os.O_CREAT])
def test_a_path_that_leaves_is_a_scope_violation(root: int, path: str, flags: int) -> None:
    """Links, `..` and absolute paths out are refused whatever the file is opened for."""
    with pytest.raises(ScopeViolationError) as caught:
        open_beneath(root, path, flags, 0o600 if flags & os.O_CREAT else 0)
    assert caught.value.violation.rule == "allowlist"


@pytest.mark.parametrize("path", ["root/etc/passwd", "cwd", "exe", "fd/0"])
def test_a_magic_link_is_a_scope_violation(path: str) -> None:
    """The links of /proc jump without a path and are refused too."""
    with opened_root("/proc/self") as root, pytest.raises(ScopeViolationError):
        open_beneath(root, path, os.O_PATH)


def test_a_nul_is_refused_and_never_cuts_the_path(root: int) -> None:
    """C would read `sub/file` here; that is another path than the one that was checked."""
    with pytest.raises(ScopeViolationError):
        open_beneath(root, "sub/file\0.txt", os.O_RDONLY)


def test_an_ordinary_failure_keeps_its_errno(root: int) -> None:
    """Errors that say nothing about the scope stay what they are."""
    with pytest.raises(FileNotFoundError):
        open_beneath(root, "missing", os.O_RDONLY)
    with pytest.raises(NotADirectoryError):
        open_beneath(root, "sub/file/x", os.O_RDONLY)


def test_a_descriptor_is_not_inherited(root: int) -> None:
    """Nothing that is opened here reaches a process that the host starts."""
    with opened_beneath(root, "sub/file", os.O_RDONLY) as descriptor:
        assert not os.get_inheritable(descriptor)


def test_a_kernel_without_openat2_refuses_everything(
    root: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no second-best way to open a file."""
    monkeypatch.setattr(beneath, "_SYS_OPENAT2", 100_000)
    with pytest.raises(ProviderError, match=r"Linux 5\.6"):
        open_beneath(root, "sub/file", os.O_RDONLY)


@pytest.mark.parametrize("passing", [errno.EAGAIN, errno.EINTR])
def test_a_passing_failure_is_tried_again(
    root: int, monkeypatch: pytest.MonkeyPatch, passing: int
) -> None:
    """A rename elsewhere on the host, or a signal, does not fail the call."""
    real, failures = beneath._openat2, [passing] * 3

    def flaky(folder: int, raw: bytes, flags: int, mode: int) -> tuple[int, int]:
        return (-1, failures.pop()) if failures else real(folder, raw, flags, mode)

    monkeypatch.setattr(beneath, "_openat2", flaky)
    with opened_beneath(root, "sub/file", os.O_RDONLY) as descriptor:
        assert os.read(descriptor, 100) == b"public"
    assert failures == []


def test_trying_again_is_bounded(root: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that renames without end costs an error, not a thread."""
    monkeypatch.setattr(beneath, "_openat2", lambda *_: (-1, errno.EAGAIN))
    with pytest.raises(ProviderError, match="try again"):
        open_beneath(root, "sub/file", os.O_RDONLY)


def test_a_root_that_is_not_absolute_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unanchored scope is never taken from the directory the host happens to stand in."""
    (tmp_path / "sandbox").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ProviderError, match="anchored"), opened_root("sandbox"):
        pass


def test_a_missing_root_does_not_tell_where_it_would_be(tmp_path: Path) -> None:
    """The message is for user space, which does not know the host's paths."""
    with pytest.raises(ProviderError) as caught, opened_root(str(tmp_path / "gone")):
        pass
    assert str(tmp_path) not in caught.value.message
