"""(8) Tallies as Prometheus collects them: its samples are made when it asks, and not before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from caps.capabilities.telemetry.counters import CounterTally, GaugeTally, HistogramTally, Tally


def offer(tallies: Iterable[Tally], registry: CollectorRegistry) -> None:
    """From now on who collects from `registry` gets these, too. ValueError for a name it has."""
    registry.register(_Tallies(tuple(tallies)))


class _Tallies(Collector):
    def __init__(self, tallies: tuple[Tally, ...]) -> None:
        self._tallies = tallies

    def describe(self) -> Iterator[Metric]:
        """What the registry asks for the names of."""
        return self.collect()

    def collect(self) -> Iterator[Metric]:
        return map(_family, self._tallies)


def _family(tally: Tally) -> Metric:
    match tally:
        case CounterTally():
            return _counted(tally)
        case GaugeTally():
            return _gauged(tally)
        case HistogramTally():
            return _distributed(tally)
    raise TypeError(f"no metric: {type(tally).__name__}")


def _counted(tally: CounterTally) -> Metric:
    family = CounterMetricFamily(tally.name, tally.documentation, labels=tally.labels)
    for labels, value in tally.samples():
        family.add_metric(labels, value)
    return family


def _gauged(tally: GaugeTally) -> Metric:
    family = GaugeMetricFamily(tally.name, tally.documentation, labels=tally.labels)
    for labels, value in tally.samples():
        family.add_metric(labels, value)
    return family


def _distributed(tally: HistogramTally) -> Metric:
    family = HistogramMetricFamily(tally.name, tally.documentation, labels=tally.labels)
    bounds: list[str] = [floatToGoString(bound) for bound in tally.bounds]  # type: ignore[no-untyped-call] # the library's has none
    for labels, counts, total in tally.samples():
        family.add_metric(labels, list(zip(bounds, accumulate(counts), strict=True)), total)
    return family
