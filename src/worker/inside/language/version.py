"""The version of the language layer: a digest of everything that affects what source compiles to.

Only a worker with the same language layer and the same Python can use compiled code, so both are
part of its cache key. The digest covers the source files, so that there is no version number to
increment, and the private names that are loaded (`known_private_names`).
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import RestrictedPython

from caps.worker import inside
from caps.worker.inside.language.known_private_names import loaded_names


@functools.cache
def sources_digest() -> bytes:
    """First called in the zygote, while the file system is still accessible."""
    return digest_of(*inside.__path__, *RestrictedPython.__path__)


def digest_of(*packages: str) -> bytes:
    """A digest of every source file in the folders of `packages`, and in the folders below."""
    digest = hashlib.sha256()
    for package in packages:
        for source in sorted(Path(package).rglob("*.py")):
            digest.update(f"{source.relative_to(package)}\0".encode())
            digest.update(source.read_bytes())
    return digest.digest()


@functools.cache
def language_version() -> str:
    """First called in the zygote, when everything is loaded and its names are recorded."""
    names = loaded_names()
    known = "unknown" if names is None else " ".join(sorted(names))
    return hashlib.sha256(sources_digest() + known.encode()).hexdigest()[:32]
