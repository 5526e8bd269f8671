"""The capability `session_file_system`: six tools, and how to use them well."""

from __future__ import annotations

from caps.capabilities.catalogue.capability import (
    Capability,
    ResolvedCapability,
    ResolvedConfig,
    ToolDescriptor,
)
from caps.capabilities.catalogue.context import ResolverContext

_PROMPT = """\
You have a file system of your own for this session. Its files stay between your turns, and nobody \
outside of the session can see them. It starts empty, and it is not the host's file system.

- Paths are absolute: `/notes/plan.md`. Directories are created when you write a file in them.
- Look before you act: `list_directory` and `stat_file` tell what is there, `grep_files` finds \
where something is mentioned, and `read_file` reads one file. Search before you read many files.
- `write_file` writes a whole file. To change a file, read it, change the text, and write all of \
it, with the `version` that you read as `if_version`. If the file has changed since, the write is \
refused: read it again and repeat your change on the new text. A new file needs no `if_version`.
- Pass bytes that are not text as base64, with `encoding` set to `base64`.
- `delete_file` deletes a directory with everything in it only if `recursive` is true. There is no \
way to undo it.
- Some files are read-only. Write your own version to another path.
- Keep files small and few: their size and number are limited. Write down intermediate results \
that you will need later, and delete what you no longer need.\
"""


class SessionFileSystem(Capability):
    """Files that belong to a session."""

    key = "session_file_system"
    name = "File System"
    description = "Tools to access and manipulate files in the session file system."
    icon = "folder"
    category = "File Operations"
    system_prompt = _PROMPT
    tools = (
        ToolDescriptor(
            "read_file", "Read File", "Read file content by path.", "session_files.read"
        ),
        ToolDescriptor(
            "write_file", "Write File", "Create or update a file.", "session_files.write"
        ),
        ToolDescriptor(
            "list_directory",
            "List Directory",
            "List files and directories at a path.",
            "session_files.list",
        ),
        ToolDescriptor(
            "grep_files", "Search Files", "Search file contents using regex.", "session_files.grep"
        ),
        ToolDescriptor(
            "delete_file", "Delete File", "Delete a file or directory.", "session_files.delete"
        ),
        ToolDescriptor(
            "stat_file", "File Metadata", "Get file or directory metadata.", "session_files.stat"
        ),
    )

    def resolve(self, ctx: ResolverContext, config: ResolvedConfig) -> ResolvedCapability:  # noqa: ARG002
        return ResolvedCapability(scopes={"session_files": {}})
