"""(7) The `session_files` domain: an isolated tree of files for each principal and session.

The files are in the store (`caps.store`), which is opened by the first call. Importing this package
loads no database library.
"""

from __future__ import annotations

from caps.capabilities.registry import CapabilityRegistry
from caps.providers.session_files import grep, read, write
from caps.providers.session_files.capability import SessionFileSystem
from caps.providers.session_files.scope import SessionFilesScope

__all__ = ["SessionFilesScope", "register_session_files"]


def register_session_files(registry: CapabilityRegistry) -> None:
    """Declare the domain `session_files`, its six functions and its capability."""
    registry.domain(
        "session_files",
        scope=SessionFilesScope,
        title="Session files",
        description="Files that belong to the session, in the store of the host.",
    )
    reads, changes = frozenset({"reads"}), frozenset({"changes"})
    registry.capability(
        "session_files.read", title="Read a file", shown=("path",), tags=reads, idempotent=True
    )(read.read)
    registry.capability(
        "session_files.list", title="List a directory", shown=("path",), tags=reads, idempotent=True
    )(read.list_directory)
    registry.capability(
        "session_files.stat", title="Describe a path", shown=("path",), tags=reads, idempotent=True
    )(read.stat_file)
    registry.capability(
        "session_files.grep",
        title="Search files",
        shown=("path_pattern",),
        tags=reads,
        idempotent=True,
    )(grep.grep)
    registry.capability(
        "session_files.write",
        title="Write a file",
        shown=("path", "encoding", "if_version"),
        tags=changes,
    )(write.write)
    registry.capability(
        "session_files.delete",
        title="Delete a file or directory",
        shown=("path", "recursive", "if_version"),
        tags=changes,
    )(write.delete)
    registry.register(SessionFileSystem)
