"""Which language layer this is: a digest of everything that decides what a source compiles to.

Compiled code is of use only to a worker of the same language layer and the same Python, so both are
part of what it is filed under. The digest is of the sources themselves, so that nobody has to
remember to count a version up, and of the names that nothing loaded here has (`library_names`).
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import RestrictedPython

from caps.worker.inside.language.known_private_names import learnt


@functools.cache
def sources_digest() -> bytes:
    """First called in the zygote, while there still is a file system."""
    digest = hashlib.sha256()
    for module in (__file__, RestrictedPython.__file__):
        for source in sorted(Path(module).parent.rglob("*.py")):
            digest.update(source.read_bytes())
    return digest.digest()


@functools.cache
def language_version() -> str:
    """First called in the zygote, when all is loaded and its names are learnt."""
    names = learnt()
    known = "unknown" if names is None else " ".join(sorted(names))
    return hashlib.sha256(sources_digest() + known.encode()).hexdigest()[:32]
