"""Which service this is: one process for each audit directory, known again after a restart.

Several processes may write to one audit log, but only one of them may be a service: at its start it
ends the executions and approvals that its last process left, and those of a service that still runs
must not be among them. So the id of a service is in a file of its audit directory, and the lock of
that file is held for as long as the service lives. The kernel frees it with the process, however
that ends.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from caps.protocol.disk.regular_files import CREATE_FLAGS, require_regular, write_at
from caps.protocol.errors import ConfigurationError
from caps.store.columns import new_id

INSTANCE_FILE: Final = ".service"
_ID: Final = re.compile(rb"[0-9a-f]{32}")


@contextmanager
def held_instance(audit_directory: Path) -> Iterator[str]:
    """The id of the service of this directory, which is ours until the end of the block.

    Raises ConfigurationError if another service has it, or the file cannot be used.
    """
    path = audit_directory.absolute() / INSTANCE_FILE
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Closed on exec: a worker that outlives us by a moment does not keep the lock.
        fd = os.open(path, CREATE_FLAGS | os.O_NONBLOCK, 0o600)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        yield _locked_id(fd, path)
    finally:
        os.close(fd)


def _locked_id(fd: int, path: Path) -> str:
    try:
        require_regular(fd, path)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        kept = os.pread(fd, 64, 0)
        if not _ID.fullmatch(kept):  # a new file, or one whose writing was interrupted
            kept = new_id().hex.encode()
            os.ftruncate(fd, write_at(fd, kept, 0))
            os.fsync(fd)
    except BlockingIOError:
        raise ConfigurationError(
            f"another service runs with the audit directory `{path.parent}`; "
            "stop it, or give this one a directory of its own with `--audit`"
        ) from None
    except OSError as error:
        raise _unusable(path, error) from error
    return kept.decode()


def _unusable(path: Path, error: OSError) -> ConfigurationError:
    reason = (error.strerror or type(error).__name__).lower()
    return ConfigurationError(f"the file of the service `{path}` cannot be used: {reason}")
