"""(6) Approvals across processes: a directory in which calls wait for an answer.

One file for each call that waits, `<id>.request`, and one for its answer, `<id>.answer`. The host
holds a lock on its request while it waits, so a reader of the directory can tell which hosts are
gone. Files are complete when they appear (written aside, then linked), an answer cannot be replaced
by another, links are never followed, and what is read is bounded and checked. Write access to the
directory is the power to approve: only its owner has access, and a policy whose scopes could change
something in it is refused (`policies/protected_paths.py`).
"""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from caps.protocol.disk.state_directory import state_directory
from caps.protocol.environment import Variable
from caps.protocol.errors import ConfigurationError
from caps.protocol.text import escape_unprintable
from caps.security.approvals.model import ApprovalAnswer, ApprovalRequest, is_approval_id

_REQUEST: Final = ".request"
_ANSWER: Final = ".answer"
_ASIDE: Final = ".aside"
_MAX_BYTES: Final = 256 * 1024
_ABANDONED_SECONDS: Final = 3600
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAKE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

T = TypeVar("T")

logger = logging.getLogger(__name__)


def default_approvals_directory() -> Path:
    """`CAPS_APPROVALS_PATH`, else `caps/approvals` in the user's state directory (XDG)."""
    if configured := Variable.APPROVALS_PATH.read():
        return Path(configured)
    return state_directory() / "approvals"


class ApprovalDirectory:
    """An open approvals directory. All access to its files is through its descriptor."""

    def __init__(self, directory: Path, descriptor: int, owner: int) -> None:
        self._directory = directory
        self._at = descriptor
        self._owner = owner

    @classmethod
    def open(cls, directory: Path, *, make: bool = False) -> ApprovalDirectory:
        """Open it. With `make`, for hosts: create it first and remove files of hosts that exited.

        Raises ConfigurationError if it does not exist, is not a directory, or is open to others.
        """
        try:
            if make:
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            reason = (error.strerror or "input/output error").lower()
            raise ConfigurationError(
                f"approvals directory `{directory}` cannot be opened: {reason}"
            ) from error
        try:
            owner = _checked_owner(directory, os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        store = cls(directory, descriptor, owner)
        if make:
            store._try_to_clear_leftovers()
        return store

    def close(self) -> None:
        os.close(self._at)

    def __enter__(self) -> ApprovalDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def posted(self, request: ApprovalRequest) -> Iterator[None]:
        """Post the request within the context; afterwards its files are removed. Raises OSError."""
        with self._draft(request.id) as (aside, descriptor):
            # Locked before it is visible: a request without a lock belongs to no running host.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _write_all(descriptor, msgspec.json.encode(request))
            self._link(aside, request.id + _REQUEST)
            self._remove(aside)
            try:
                yield
            finally:
                for suffix in (_REQUEST, _ANSWER):
                    self._remove(request.id + suffix)

    @contextmanager
    def _draft(self, approval_id: str) -> Iterator[tuple[str, int]]:
        """A new open file with a unique name; the name is removed afterwards."""
        aside = f"{approval_id}.{secrets.token_hex(8)}{_ASIDE}"
        descriptor = os.open(aside, _MAKE, 0o600, dir_fd=self._at)
        try:
            yield aside, descriptor
        finally:
            self._remove(aside)
            os.close(descriptor)

    def _link(self, aside: str, name: str) -> None:
        """Link a draft to its final name. Raises FileExistsError: a file is never replaced."""
        os.link(aside, name, src_dir_fd=self._at, dst_dir_fd=self._at)

    def answer_to(self, approval_id: str) -> ApprovalAnswer | None:
        """The answer; None if there is none yet. An answer that cannot be read is a denial."""
        try:
            return self._read(approval_id + _ANSWER, ApprovalAnswer)
        except (OSError, msgspec.MsgspecError, UnicodeError) as error:
            what = f"the answer cannot be read: {type(error).__name__}"
            return ApprovalAnswer(allowed=False, by="(unknown)", reason=what)

    def pending(self) -> list[ApprovalRequest]:
        """The requests that wait, oldest first. Requests of hosts that are gone are left out."""
        names = os.listdir(self._at)  # noqa: PTH208 - a path has no descriptors
        ids = [name.removesuffix(_REQUEST) for name in names if name.endswith(_REQUEST)]
        found = [request for each in ids if (request := self._waiting(each)) is not None]
        return sorted(found, key=lambda request: (request.asked_at, request.id))

    def find(self, prefix: str) -> ApprovalRequest:
        """The request whose id starts with `prefix`. ConfigurationError if none or several do."""
        found = [each for each in self.pending() if prefix and each.id.startswith(prefix)]
        if len(found) == 1:
            return found[0]
        shown = escape_unprintable(prefix[:40])
        if found:
            raise ConfigurationError(f"`{shown}` begins {len(found)} ids; give more of it")
        raise ConfigurationError(
            f"no call waits for an approval `{shown}`; it was answered, took too long, or its "
            "execution has ended"
        )

    def answer(self, approval_id: str, answer: ApprovalAnswer) -> None:
        """Answer a request. ConfigurationError if nobody waits for it, or it has an answer."""
        if self._waiting(approval_id) is None:
            raise ConfigurationError(f"nobody waits for the approval `{approval_id}` any more")
        try:
            with self._draft(approval_id) as (aside, descriptor):
                _write_all(descriptor, msgspec.json.encode(answer))
                if os.geteuid() != self._owner:
                    os.fchown(descriptor, self._owner, -1)  # root answers, the host must read it
                self._link(aside, approval_id + _ANSWER)
        except FileExistsError:
            # The first answer counts.
            raise ConfigurationError(f"`{approval_id}` was answered already") from None
        except OSError as error:
            reason = (error.strerror or "input/output error").lower()
            raise ConfigurationError(f"the answer cannot be written: {reason}") from error

    def _waiting(self, approval_id: str) -> ApprovalRequest | None:
        """The request, if a running host waits for it."""
        if not is_approval_id(approval_id) or not self._is_locked(approval_id + _REQUEST):
            return None
        try:
            found = self._read(approval_id + _REQUEST, ApprovalRequest)
        except (OSError, msgspec.MsgspecError, UnicodeError):
            return None  # not written by a host
        return found if found is not None and found.id == approval_id else None

    def _is_locked(self, name: str) -> bool:
        try:
            descriptor = os.open(name, _READ, dir_fd=self._at)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def _read(self, name: str, kind: type[T]) -> T | None:
        """The file's content; None if it is not there."""
        try:
            descriptor = os.open(name, _READ, dir_fd=self._at)
        except FileNotFoundError:
            return None
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_uid not in (0, self._owner):
                raise PermissionError(f"{name} is not a file of the directory's owner")
            # Closed below, not by the file object: `fdopen` itself may fail.
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(_MAX_BYTES + 1)
        finally:
            os.close(descriptor)
        if len(data) > _MAX_BYTES:
            raise msgspec.ValidationError(f"more than {_MAX_BYTES} bytes")
        return msgspec.json.decode(data, type=kind)

    def odd_entries(self) -> list[str]:
        """Entries with names like ours that are not files: they are neither read nor removed."""
        names = os.listdir(self._at)  # noqa: PTH208 - as above
        return sorted(
            name
            for name in names
            if is_approval_id(name.partition(".")[0]) and not self._is_file(name)
        )

    def _is_file(self, name: str) -> bool:
        try:
            status = os.stat(name, dir_fd=self._at, follow_symlinks=False)
        except FileNotFoundError:
            return True  # removed in the meantime: it was one of ours
        return stat.S_ISREG(status.st_mode)

    def _try_to_clear_leftovers(self) -> None:
        """Remove leftovers. A failure is logged and does not stop anybody from asking."""
        try:
            for name in self.odd_entries():
                logger.warning(
                    "`%s` in `%s` is not a file and is left alone", name, self._directory
                )
            self._clear_leftovers()
        except OSError as error:
            logger.warning(
                "what is left over in `%s` cannot be cleared: %s", self._directory, error.strerror
            )

    def _clear_leftovers(self) -> None:
        """Remove files of hosts that were killed: requests without a lock, and their answers."""
        for name in os.listdir(self._at):  # noqa: PTH208 - as above
            approval_id, _, rest = name.partition(".")
            if not is_approval_id(approval_id) or not self._is_file(name):
                continue  # not ours
            if rest.endswith(_ASIDE[1:]):
                abandoned = self._is_older(name, _ABANDONED_SECONDS)
            else:
                abandoned = not self._is_locked(approval_id + _REQUEST)
            if abandoned:
                self._remove(name)

    def _is_older(self, name: str, seconds: int) -> bool:
        with suppress(FileNotFoundError):
            status = os.stat(name, dir_fd=self._at, follow_symlinks=False)
            return time.time() - status.st_mtime > seconds
        return False

    def _remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._at)


def _checked_owner(directory: Path, status: os.stat_result) -> int:
    user = os.geteuid()
    if status.st_uid != user and user != 0:
        raise ConfigurationError(
            f"approvals directory `{directory}` belongs to another user; answer as that user"
        )
    if status.st_mode & 0o077:
        raise ConfigurationError(
            f"approvals directory `{directory}` is open to others; run `chmod 700` on it"
        )
    return status.st_uid


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
