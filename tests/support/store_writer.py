"""A process that writes session files until it is killed, and says what was acknowledged.

`python -m support.store_writer URL NAME`: it writes `/NAME/<n>` and appends to `/NAME/total`, both
in one transaction, and prints `n` once the store has acknowledged it.
"""

from __future__ import annotations

import functools
import sys

import anyio
from sqlalchemy import Connection

from caps.store import open_store
from caps.store.repositories.session_files import SessionFiles
from caps.store.repositories.sessions import Sessions

SIZE = 20_000


def content_of(number: int) -> bytes:
    """Long enough to be written in several pages."""
    return str(number).encode().ljust(SIZE, b".")


def write_both(connection: Connection, name: str, number: int) -> None:
    files = SessionFiles(connection, Sessions(connection).change("ann", "s"))
    files.put(f"/{name}/{number}", content_of(number))
    total = files.entry(f"/{name}/total")
    known = 0 if total is None else total.version
    files.put(f"/{name}/total", str(number).encode(), known_version=known)


async def main(url: str, name: str) -> None:
    async with open_store(url) as store:
        for number in range(1, 1_000_000):
            await store.write(functools.partial(write_both, name=name, number=number))
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2])
