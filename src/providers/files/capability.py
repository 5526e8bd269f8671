"""The capability `files`: the directories that an agent works in, and the tools it has there."""

from __future__ import annotations

import os.path
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

from caps.capabilities.catalogue.capability import (
    Capability,
    CapabilityConfig,
    ResolvedCapability,
    ResolvedConfig,
    ToolDescriptor,
)
from caps.capabilities.catalogue.context import ResolverContext
from caps.capabilities.schemas.patterns import checked_glob
from caps.protocol.errors import AgentInvalidError
from caps.protocol.text import printable
from caps.providers.files.scope import MAX_DENIED, MAX_DIRECTORIES, checked_directories


class FilesConfig(CapabilityConfig):
    """The settings of `files`."""

    dirs: Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_DIRECTORIES)] = Field(
        description="The directories that its tools reach; relative ones are in the workspace."
    )

    deny: Annotated[tuple[str, ...], Field(max_length=MAX_DENIED)] = Field(
        default=(), description="Patterns of paths beneath them that are denied, as `**/.env`."
    )

    @field_validator("dirs")
    @classmethod
    def _name_directories(cls, dirs: tuple[str, ...]) -> tuple[str, ...]:
        return checked_directories(dirs)

    @field_validator("deny")
    @classmethod
    def _are_globs(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(checked_glob(pattern) for pattern in patterns)


class Files(Capability):
    """Files beneath the directories that the agent's object names."""

    key = "files"
    name = "Files"
    description = "Read and change files beneath the directories that the agent is given."
    icon = "folder"
    category = "File Operations"
    config_model = FilesConfig
    tools = (
        ToolDescriptor("read_file", "Read File", "Read the content of a file.", "files.read"),
        ToolDescriptor("write_file", "Write File", "Create or replace a file.", "files.write"),
        ToolDescriptor(
            "list_directory", "List Directory", "List the entries of a directory.", "files.list"
        ),
        ToolDescriptor("stat_file", "File Metadata", "Describe a file or directory.", "files.stat"),
        ToolDescriptor("delete_file", "Delete File", "Delete a file or directory.", "files.delete"),
        ToolDescriptor("grep_files", "Search Files", "Search the lines of files.", "files.grep"),
        ToolDescriptor("glob_files", "Find Files", "Find files by their paths.", "files.glob"),
        ToolDescriptor("copy_file", "Copy File", "Copy a file.", "files.copy"),
        ToolDescriptor("move_file", "Move File", "Move or rename a file.", "files.move"),
    )

    def resolve(self, ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:
        settings = config.settings_as(FilesConfig)
        scope: dict[str, Any] = {
            "allowlist": [_absolute(entry, ctx.workspace_dir) for entry in settings.dirs]
        }
        if settings.deny:
            scope["denylist"] = list(settings.deny)
        return ResolvedCapability(scopes={"files": scope})


def _absolute(entry: str, workspace: str) -> str:
    """AgentInvalidError for a relative entry that is not in a workspace: nothing is guessed."""
    place = "capabilities.files.dirs"
    path = Path(os.path.normpath(Path(workspace) / entry))
    reason = None
    if not path.is_absolute():
        reason = "is relative, and the workspace is not an absolute path"
    elif not Path(entry).is_absolute() and not path.is_relative_to(os.path.normpath(workspace)):
        reason = "leaves the workspace"
    if reason is not None:
        raise AgentInvalidError(
            f"capability `files`: `{printable(entry)}` at `{place}` {reason}; write the path in "
            "full",
            place=place,
        )
    return str(path)
