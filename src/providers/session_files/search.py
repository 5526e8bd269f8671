"""Searching text with patterns of untrusted code, in time linear in the text. No IO.

RE2 never backtracks. What is left to bound is the constant: the size of a compiled pattern, the
length of a line, the number of matches and what is shown of them. RE2 releases the interpreter's
lock while it searches, and between two lines the deadline is checked.
"""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import TypedDict

from caps.capabilities.provider import ProviderError
from caps.protocol.text import printable
from caps.store.session_paths import name_of

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_PATTERN_CHARACTERS: Final = 1000
MAX_MATCHES: Final = 500
MAX_LINE_BYTES: Final = 64 * 1024
"""What is searched of a line; the rest of a longer one is not, and the result says so."""
MAX_SHOWN_CHARACTERS: Final = 400
_MAX_SHOWN_IN_ALL: Final = 128 * 1024
_MAX_PROGRAM: Final = 2000
_MAX_MEMORY: Final = 1024 * 1024
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
        self._pattern = _compiled("pattern", pattern)
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
    """Whether a normalised path fits `glob`: `*`, `?` and `[…]` within a name, `**` across names.

    A pattern without `/` is compared with the last name, any other one with the whole path. Raises
    ProviderError.
    """
    if not glob:
        return lambda _: True
    glob = unicodedata.normalize("NFC", glob)
    whole = "/" in glob
    if whole and not glob.startswith("/"):
        glob = f"/{glob}"
    pattern = _compiled("path_pattern", _translated(glob))

    def fits(path: str) -> bool:
        return pattern.fullmatch((path if whole else name_of(path)).encode()) is not None

    return fits


def _translated(glob: str) -> str:
    """The same as a regular expression. Each piece is at most a few times as long."""
    import re2

    made, at = [], 0
    while at < len(glob):
        if glob.startswith("**/", at):
            made.append("(?:.*/)?")
            at += 3
        elif glob.startswith("**", at):
            made.append(".*")
            at += 2
        elif glob[at] == "[" and (end := glob.find("]", at + 2)) > 0:
            made.append(_class(glob[at + 1 : end]))
            at = end + 1
        else:
            made.append({"*": "[^/]*", "?": "[^/]"}.get(glob[at]) or re2.escape(glob[at]))
            at += 1
    return "".join(made)


def _class(inside: str) -> str:
    """`[abc]`, `[a-z]` or `[!…]`; `-` is the only character in it with a meaning."""
    negated = inside.startswith(("!", "^"))
    text = inside[1:] if negated else inside
    escaped = "".join(
        char if char == "-" or char.isalnum() else f"\\x{{{ord(char):x}}}" for char in text
    )
    return f"[{'^/' if negated else ''}{escaped}]"


def _compiled(name: str, pattern: str) -> Any:
    import re2

    if len(pattern) > MAX_PATTERN_CHARACTERS * 4:
        raise ProviderError(f"`{name}` is too long")
    options = re2.Options()
    options.log_errors, options.never_capture = False, True
    options.max_mem = _MAX_MEMORY
    try:
        made = re2.compile(pattern.encode(), options)
    except UnicodeEncodeError:
        raise ProviderError(f"`{name}` holds half of a surrogate pair") from None
    except re2.error as error:
        reason = error.args[0]
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ProviderError(f"`{name}` is not valid: {printable(text)}") from None
    if made.programsize > _MAX_PROGRAM:
        raise ProviderError(f"`{name}` is too complex; use fewer or smaller repetitions")
    return made


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
