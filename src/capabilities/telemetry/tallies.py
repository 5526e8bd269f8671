"""(8) Metrics of what happens at every call and every execution: plain numbers and a lock.

The library's own take a dozen function calls to add one to a number, which is a tenth of a whole
capability call. These keep plain numbers, and become the library's samples when somebody collects.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.utils import floatToGoString

Labels = tuple[str, ...]


class CounterTally:
    """A counter; `labels` of one sample are a tuple in the order of the names."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self.name = name
        self.labels = tuple(labels)
        self._documentation = documentation
        self._lock = threading.Lock()
        self._values: dict[Labels, float] = {}
        if not labels:
            self.begin(())  # as the library does: there before anything happens
        registry.register(self)

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

    def describe(self) -> Iterator[CounterMetricFamily]:
        """What the registry asks for the names of."""
        yield CounterMetricFamily(self.name, self._documentation, labels=self.labels)

    def collect(self) -> Iterator[CounterMetricFamily]:
        with self._lock:
            values = list(self._values.items())
        family = CounterMetricFamily(self.name, self._documentation, labels=self.labels)
        for labels, value in values:
            family.add_metric(labels, value)
        yield family


class GaugeTally:
    """A number without labels that goes up and down."""

    labels: Labels = ()

    def __init__(self, name: str, documentation: str, registry: CollectorRegistry) -> None:
        self.name = name
        self._documentation = documentation
        self._lock = threading.Lock()
        self._value: float = 0
        registry.register(self)

    def add(self, change: float) -> None:
        with self._lock:
            self._value += change

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """What the registry asks for the names of."""
        yield GaugeMetricFamily(self.name, self._documentation)

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield GaugeMetricFamily(self.name, self._documentation, value=self._value)


class HistogramTally:
    """A histogram with the upper bounds `buckets`, beside which there is always one more."""

    def __init__(
        self,
        name: str,
        documentation: str,
        labels: Sequence[str],
        buckets: Sequence[float],
        registry: CollectorRegistry,
    ) -> None:
        self.name = name
        self.labels = tuple(labels)
        self._documentation = documentation
        self._bounds = tuple(buckets)
        self._lock = threading.Lock()
        # How many there are in each bucket alone, and last their sum.
        self._rows: dict[Labels, list[float]] = {}
        if not labels:
            self._begin(())  # as the library does: there before anything happens
        registry.register(self)

    def observe(self, labels: Labels, value: float) -> None:
        place = bisect_left(self._bounds, value)
        with self._lock:
            row = self._rows.get(labels) or self._begin(labels)
            row[place] += 1
            row[-1] += value

    def _begin(self, labels: Labels) -> list[float]:
        row = self._rows[labels] = [*[0] * (len(self._bounds) + 1), 0.0]
        return row

    def describe(self) -> Iterator[HistogramMetricFamily]:
        """What the registry asks for the names of."""
        yield HistogramMetricFamily(self.name, self._documentation, labels=self.labels)

    def collect(self) -> Iterator[HistogramMetricFamily]:
        with self._lock:
            rows = [(key, row[:-1], row[-1]) for key, row in self._rows.items()]
        family = HistogramMetricFamily(self.name, self._documentation, labels=self.labels)
        bounds: list[str] = [
            floatToGoString(bound)  # type: ignore[no-untyped-call]
            for bound in (*self._bounds, float("inf"))
        ]
        for labels, counts, total in rows:
            running: float = 0
            buckets = []
            for bound, count in zip(bounds, counts, strict=True):
                running += count
                buckets.append((bound, running))
            family.add_metric(labels, buckets, total)
        yield family
