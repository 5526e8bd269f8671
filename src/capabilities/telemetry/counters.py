"""(8) Metrics as plain numbers and a lock; `collecting` makes the library's samples of them.

The library's own take a dozen function calls to add one to a number, which is a tenth of a whole
capability call. And it brings a web server along: a command whose metrics nobody can see starts
without it.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Sequence

Labels = tuple[str, ...]


class Tally:
    """What all have: a name, a text for people, and the names of the labels of a sample."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.documentation = documentation
        self.labels = tuple(labels)
        self._lock = threading.Lock()


class CounterTally(Tally):
    """A counter; `labels` of one sample are a tuple in the order of the names."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, documentation, labels)
        self._values: dict[Labels, float] = {}
        if not labels:
            self.begin(())  # as the library does: there before anything happens

    def begin(self, labels: Labels) -> None:
        """Have a sample of zero for these, before anything is counted."""
        with self._lock:
            self._values.setdefault(labels, 0)

    def add(self, labels: Labels, amount: float = 1) -> None:
        with self._lock:
            self._values[labels] = self._values.get(labels, 0) + amount

    def add_each(self, samples: Iterable[Labels]) -> None:
        """Add one to each of them."""
        with self._lock:
            values = self._values
            for labels in samples:
                values[labels] = values.get(labels, 0) + 1

    def samples(self) -> list[tuple[Labels, float]]:
        """All numbers, as they are now."""
        with self._lock:
            return list(self._values.items())


class GaugeTally(Tally):
    """Numbers that go up and down."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, documentation, labels)
        self._values: dict[Labels, float] = {} if labels else {(): 0}

    def add(self, change: float) -> None:
        """To the number of one without labels."""
        with self._lock:
            self._values[()] += change

    def set(self, labels: Labels, value: float) -> None:
        with self._lock:
            self._values[labels] = value

    def add_holder(self, labels: Labels, change: int) -> None:
        """Count those that hold `labels`; what nobody holds has no sample."""
        with self._lock:
            held = self._values.pop(labels, 0) + change
            if held:
                self._values[labels] = held

    def samples(self) -> list[tuple[Labels, float]]:
        """All numbers, as they are now."""
        with self._lock:
            return list(self._values.items())


class HistogramTally(Tally):
    """A histogram with the upper bounds `buckets`, beside which there is always one more."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], buckets: Sequence[float]
    ) -> None:
        super().__init__(name, documentation, labels)
        self.bounds = (*buckets, float("inf"))
        # How many there are in each bucket alone, and last their sum.
        self._rows: dict[Labels, list[float]] = {}
        if not labels:
            self._begin(())  # as the library does: there before anything happens

    def observe(self, labels: Labels, value: float) -> None:
        place = bisect_left(self.bounds, value)
        with self._lock:
            row = self._rows.get(labels) or self._begin(labels)
            row[place] += 1
            row[-1] += value

    def _begin(self, labels: Labels) -> list[float]:
        row = self._rows[labels] = [*[0] * len(self.bounds), 0.0]
        return row

    def samples(self) -> list[tuple[Labels, list[float], float]]:
        """By labels: how many there are in each bucket alone, and their sum."""
        with self._lock:
            return [(key, row[:-1], row[-1]) for key, row in self._rows.items()]
