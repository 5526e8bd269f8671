"""(4) Reports errors of futures that were never retrieved.

Only a failed future holds an `UnretrievedError`. It reports its error if it is collected before the
error was retrieved.
"""

from __future__ import annotations

import itertools
from collections import deque

LostErrors = deque[tuple[str, BaseException]]

_numbers = itertools.count()


class UnretrievedError:
    """The error of a future, until it is retrieved."""

    __slots__ = ("__weakref__", "_label", "_lost", "error", "number")

    def __init__(self, label: str, error: BaseException, lost: LostErrors) -> None:
        self._label = label
        self._lost = lost
        self.error: BaseException | None = error
        self.number = next(_numbers)

    def __del__(self) -> None:
        # May run at any point, so it only appends to a queue; the loop reports the error later.
        self.report()

    def report(self) -> None:
        """Queue the error for the loop to report, once."""
        if self.error is not None:
            self._lost.append((f"{self._label} exception was never retrieved", self.error))
            self.error = None
