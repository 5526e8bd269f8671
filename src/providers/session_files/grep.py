"""(7) `session_files.grep`: search the files of the session.

The answer has the labels of every file that was searched, also of those without a match: that
nothing matched tells something of them, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import Field
from typing_extensions import TypedDict

from caps.capabilities.provider import CallContext
from caps.capabilities.schemas.patterns import MAX_PATTERN_CHARACTERS
from caps.providers.session_files.search import Match, Search, path_filter
from caps.providers.session_files.tree import open_tree

if TYPE_CHECKING:
    from caps.store.repositories.session_files import FileEntry, SessionFiles

# The contents that are in memory at one time.
_PAGE_BYTES: Final = 4 * 1024 * 1024
_PAGE_FILES: Final = 200


class Matches(TypedDict):
    """The lines that match, by path. If it is `truncated`, there may be more."""

    pattern: str
    matches: list[Match]
    match_count: int
    files_searched: int
    truncated: bool


async def grep(
    context: CallContext,
    pattern: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_PATTERN_CHARACTERS,
            description="Regular expression (RE2) to search lines for; `(?i)` ignores case.",
        ),
    ],
    path_pattern: Annotated[
        str | None,
        Field(
            max_length=MAX_PATTERN_CHARACTERS,
            description="Only files with this name (`*.txt`) or path (`/docs/**/*.md`).",
        ),
    ] = None,
) -> Matches:
    """Search the content of text files for a regular expression, without backreferences."""
    deadline = time.monotonic() + context.timeout_ms / 1000
    tree = await open_tree(context)
    search, fits = Search(pattern, deadline), path_filter(path_pattern)
    wanted = [entry for entry in await tree.read(_files) or [] if fits(entry.path)]
    searched = 0
    for page in _pages(wanted):
        if search.is_full:
            search.truncated = True
            break
        context.add_labels(*(label for entry in page for label in entry.labels))
        contents = await tree.read(_contents_of(page)) or []
        searched += await context.run_in_thread(search.add, contents)
    return {
        "pattern": pattern,
        "matches": search.matches,
        "match_count": len(search.matches),
        "files_searched": searched,
        "truncated": search.truncated,
    }


def _files(files: SessionFiles) -> list[FileEntry]:
    return files.files()


def _contents_of(page: Sequence[FileEntry]) -> Callable[[SessionFiles], list[tuple[str, bytes]]]:
    paths = [entry.path for entry in page]
    return lambda files: files.contents(paths)


def _pages(entries: Sequence[FileEntry]) -> Iterator[list[FileEntry]]:
    """The entries in parts of a few megabytes, or of one file that is larger."""
    page: list[FileEntry] = []
    size = 0
    for entry in entries:
        if page and (size + entry.size_bytes > _PAGE_BYTES or len(page) >= _PAGE_FILES):
            yield page
            page, size = [], 0
        page.append(entry)
        size += entry.size_bytes
    if page:
        yield page
