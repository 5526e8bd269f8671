"""(4) An error that nobody looks at is not lost.

A failed future alone holds an `Unretrieved`, which leaves word when it dies before somebody asked.
"""

from __future__ import annotations

import itertools
from collections import deque

Lost = deque[tuple[str, BaseException]]

_numbers = itertools.count()


class Unretrieved:
    """The error of a future, until somebody asks for it."""

    __slots__ = ("__weakref__", "_lost", "_who", "error", "number")

    def __init__(self, who: str, error: BaseException, lost: Lost) -> None:
        self._who = who
        self._lost = lost
        self.error: BaseException | None = error
        self.number = next(_numbers)

    def __del__(self) -> None:
        # May run in the middle of anything, so it only leaves word; the loop tells of it later.
        self.tell()

    def tell(self) -> None:
        """Leave word, once."""
        if self.error is not None:
            self._lost.append((f"{self._who} exception was never retrieved", self.error))
            self.error = None
