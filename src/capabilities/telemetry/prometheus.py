"""(8) The Prometheus collector of our metrics: samples are made only when it is collected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.core import Metric as MetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from caps.capabilities.telemetry.counters import Counter, Gauge, Histogram, Metric


def register_with_prometheus(metrics: Iterable[Metric], registry: CollectorRegistry) -> None:
    """Add the metrics to `registry`. ValueError for a name that it has already."""
    registry.register(_MetricsCollector(tuple(metrics)))


class _MetricsCollector(Collector):
    def __init__(self, metrics: tuple[Metric, ...]) -> None:
        self._metrics = metrics

    def describe(self) -> Iterator[MetricFamily]:
        """The families whose names the registry reserves."""
        return self.collect()

    def collect(self) -> Iterator[MetricFamily]:
        return map(_family, self._metrics)


def _family(metric: Metric) -> MetricFamily:
    match metric:
        case Counter():
            return _counter_family(metric)
        case Gauge():
            return _gauge_family(metric)
        case Histogram():
            return _histogram_family(metric)
    raise TypeError(f"not a metric: {type(metric).__name__}")


def _counter_family(metric: Counter) -> MetricFamily:
    family = CounterMetricFamily(metric.name, metric.documentation, labels=metric.labels)
    for labels, value in metric.samples():
        family.add_metric(labels, value)
    return family


def _gauge_family(metric: Gauge) -> MetricFamily:
    family = GaugeMetricFamily(metric.name, metric.documentation, labels=metric.labels)
    for labels, value in metric.samples():
        family.add_metric(labels, value)
    return family


def _histogram_family(metric: Histogram) -> MetricFamily:
    family = HistogramMetricFamily(metric.name, metric.documentation, labels=metric.labels)
    bounds: list[str] = [floatToGoString(bound) for bound in metric.bounds]  # type: ignore[no-untyped-call] # the library's has none
    for labels, counts, total in metric.samples():
        family.add_metric(labels, list(zip(bounds, accumulate(counts), strict=True)), total)
    return family
