"""(7) The `files` domain: its scope, its functions, and the capability that bundles them."""

from __future__ import annotations

from caps.capabilities.registry import CapabilityRegistry
from caps.providers.files import read, transfer, tree, write
from caps.providers.files.capability import Files
from caps.providers.files.scope import FilesScope

__all__ = ["FilesScope", "register_files"]


def register_files(registry: CapabilityRegistry) -> None:
    """Declare the domain `files`, its functions and its capability."""
    registry.domain(
        "files",
        scope=FilesScope,
        title="Files",
        description="Read and change files beneath the directories that the policy names.",
    )
    reads, changes = frozenset({"reads"}), frozenset({"changes"})
    registry.capability(
        "files.read", title="Read a file", shown=("path",), tags=reads, idempotent=True
    )(read.read)
    registry.capability(
        "files.list", title="List a directory", shown=("path",), tags=reads, idempotent=True
    )(read.list_directory)
    registry.capability(
        "files.stat", title="Describe a path", shown=("path",), tags=reads, idempotent=True
    )(read.stat_file)
    registry.capability(
        "files.glob",
        title="Find files",
        shown=("path", "pattern"),
        tags=reads,
        idempotent=True,
    )(tree.glob)
    registry.capability(
        "files.grep",
        title="Search in files",
        shown=("path", "path_pattern"),
        tags=reads,
        idempotent=True,
    )(tree.grep)
    registry.capability(
        "files.copy", title="Copy a file", shown=("path", "to", "overwrite"), tags=changes
    )(transfer.copy)
    registry.capability(
        "files.move", title="Move a file", shown=("path", "to", "overwrite"), tags=changes
    )(transfer.move)
    registry.capability(
        "files.write", title="Write a file", shown=("path", "encoding"), tags=changes
    )(write.write)
    registry.capability(
        "files.delete",
        title="Delete a file or directory",
        shown=("path", "recursive"),
        tags=changes,
    )(write.delete)
    registry.register(Files)
