"""Writing the operator's policy file: complete or not at all, with the rights that it had."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from caps.protocol.disk.regular_files import sync_directory


def replace_policy_file(file: Path, data: bytes) -> None:
    """Raises OSError; then the file is as it was. A link is not followed and not replaced."""
    if file.is_symlink():
        raise PermissionError(1, "it is a link")
    mode = file.stat().st_mode & 0o777
    aside = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(data)
            opened.flush()
            os.fchmod(opened.fileno(), mode)
            os.fsync(opened.fileno())
        aside.replace(file)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    sync_directory(file.parent)
