"""Searching text with patterns of untrusted code, in time linear in the text. No IO.

RE2 never backtracks. What is left to bound is the constant: the length of a line, the number of
matches and what is shown of them (`capabilities.patterns` bounds the pattern). RE2 releases the
interpreter's lock while it searches, and between two lines the deadline is checked.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

from typing_extensions import TypedDict

from caps.capabilities.provider import ProviderError
from caps.capabilities.schemas.patterns import checked_glob, compiled_regex, glob_matches

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_MATCHES: Final = 500
MAX_LINE_BYTES: Final = 64 * 1024
"""What is searched of a line; the rest of a longer one is not, and the result says so."""
MAX_SHOWN_CHARACTERS: Final = 400
_MAX_SHOWN_IN_ALL: Final = 128 * 1024
_BEFORE: Final = 80


class Match(TypedDict):
    """A line that matches; a long one is cut around the match."""

    path: str
    line_number: int
    line: str


class Search:
    """One pattern, and what was found with it so far."""

    def __init__(self, pattern: str, deadline: float) -> None:
        """Raises ProviderError for a pattern that is not valid, or too large."""
        self._pattern = compiled_regex(pattern)
        self._deadline = deadline
        self._shown = 0
        self.matches: list[Match] = []
        self.truncated = False

    @property
    def is_full(self) -> bool:
        return len(self.matches) >= MAX_MATCHES or self._shown >= _MAX_SHOWN_IN_ALL

    def add(self, files: Iterable[tuple[str, bytes]]) -> int:
        """Search files until there are matches enough; return the number of those searched.

        A file that is not UTF-8 is not searched. Raises TimeoutError at the deadline.
        """
        count = 0
        for path, content in files:
            if self.is_full:
                self.truncated = True
                break
            if _is_text(content):
                count += 1
                self._add_file(path, content)
        return count

    def _add_file(self, path: str, content: bytes) -> None:
        for number, line in enumerate(content.split(b"\n"), 1):
            if time.monotonic() > self._deadline:
                raise TimeoutError
            if self.is_full:
                self.truncated = True
                return
            searched = line.removesuffix(b"\r")
            if len(searched) > MAX_LINE_BYTES:
                searched, self.truncated = searched[:MAX_LINE_BYTES], True
            found = self._pattern.search(searched)
            if found is not None:
                shown = _around(searched, found.start())
                self._shown += len(path) + len(shown)
                self.matches.append({"path": path, "line_number": number, "line": shown})


def path_filter(glob: str | None) -> Callable[[str], bool]:
    """Whether a normalised path fits `glob`: see `capabilities.patterns`.

    A pattern without `/` is compared with the last name, any other one with the whole path. Raises
    ProviderError.
    """
    if not glob:
        return lambda _: True
    pattern = unicodedata.normalize("NFC", glob)
    if "/" not in pattern:
        return lambda path: fnmatchcase(path.rpartition("/")[2], pattern)
    pattern = pattern.removeprefix("/")
    try:
        checked_glob(pattern)
    except ValueError as error:
        raise ProviderError(f"`path_pattern` is not valid: {error}") from None
    return lambda path: glob_matches(pattern, [part for part in path.split("/") if part])


def _is_text(content: bytes) -> bool:
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in content


def _around(line: bytes, start: int) -> str:
    """The line, or a part of it with the start of the match."""
    text = line.decode("utf-8", "ignore")  # a line that was cut may end within a character
    if len(text) <= MAX_SHOWN_CHARACTERS:
        return text
    first = max(0, len(line[:start].decode("utf-8", "ignore")) - _BEFORE)
    return text[first : first + MAX_SHOWN_CHARACTERS]
