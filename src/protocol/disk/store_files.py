"""The files of the store: where its database is, if it is a file, and its key.

Named here, since policies protect them and nothing of policies knows the store.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from caps.protocol.disk.state_directory import state_directory
from caps.protocol.environment import Variable

SQLITE_URL: Final = "sqlite:///"


def default_store_file() -> Path:
    """The file of SQLite that is used if no URL is given."""
    return state_directory() / "caps.db"


def store_key_file() -> Path:
    """The key of the secrets: a file that is named, or that of the state directory."""
    named = Variable.STORE_KEY_FILE.read()
    return Path(named) if named else state_directory() / "store.key"


def store_files() -> tuple[Path, ...]:
    """The files on this host that hold what the store keeps."""
    url = Variable.DATABASE_URL.read()
    if not url:
        return (default_store_file(), store_key_file())
    if url.startswith(SQLITE_URL):
        return (Path(url.removeprefix(SQLITE_URL).partition("?")[0]), store_key_file())
    return (store_key_file(),)
