"""Tallies give the samples that the library's own metrics would give."""

from __future__ import annotations

import signal
import threading
from collections import deque
from collections.abc import Callable, Sequence

import prometheus_client
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import generate_latest

from caps.capabilities.telemetry.counters import (
    ByName,
    Counter,
    Gauge,
    GroupCounter,
    Histogram,
    JointQueue,
)
from caps.capabilities.telemetry.metrics import Metrics
from caps.capabilities.telemetry.prometheus import register_with_prometheus

_BOUNDS = (0.001, 0.25, 1.0, 2.5)


def told(registry: CollectorRegistry) -> list[str]:
    """What a scrape says, without when each series was made."""
    lines = generate_latest(registry).decode().splitlines()
    return sorted(line for line in lines if "_created" not in line)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 1e6))))
def test_a_counter_tells_what_the_librarys_would(added: list[tuple[str, float]]) -> None:
    """Same names, same labels, same numbers."""
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    tally = Counter("x_bytes", "Bytes.", ["kind"])
    register_with_prometheus([tally], ours)
    counter = prometheus_client.Counter("x_bytes", "Bytes.", ["kind"], registry=theirs)
    for kind, amount in added:
        tally.add((kind,), amount)
        counter.labels(kind).inc(amount)
    assert told(ours) == told(theirs)


@given(st.lists(st.one_of(st.sampled_from(_BOUNDS), st.floats(0, 10))))
def test_a_histogram_tells_what_the_librarys_would(values: list[float]) -> None:
    """Bounds belong to the bucket below them; what is over all of them counts, too."""
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    tally = Histogram("x_seconds", "Time.", ["kind"], _BOUNDS)
    register_with_prometheus([tally], ours)
    histogram = prometheus_client.Histogram(
        "x_seconds", "Time.", ["kind"], buckets=_BOUNDS, registry=theirs
    )
    for value in values:
        tally.observe(("a",), value)
        histogram.labels("a").observe(value)
    assert told(ours) == told(theirs)


def test_a_histogram_without_labels_is_there_before_anything_happens() -> None:
    """A rate over it starts from zero, as with the library's."""
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    register_with_prometheus([Histogram("x_seconds", "Time.", [], _BOUNDS)], ours)
    prometheus_client.Histogram("x_seconds", "Time.", buckets=_BOUNDS, registry=theirs)
    assert told(ours) == told(theirs)


def test_a_counter_is_there_once_it_is_begun_and_without_labels_from_the_start() -> None:
    """An alert on its first increase sees it rise from zero, as with the library's."""
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    ended = Counter("y", "Ends.", ["status"])
    register_with_prometheus([Counter("x", "Things."), ended], ours)
    ended.add(("bad",))
    for status in ("ok", "bad"):
        ended.begin((status,))
    prometheus_client.Counter("x", "Things.", registry=theirs)
    counter = prometheus_client.Counter("y", "Ends.", ["status"], registry=theirs)
    counter.labels("bad").inc()
    counter.labels("ok")
    assert told(ours) == told(theirs)


@given(st.lists(st.integers(-1000, 1000)))
def test_a_gauge_tells_what_the_librarys_would(changes: list[int]) -> None:
    """It is there before anything happens, and goes down as well as up."""
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    tally = Gauge("x", "Things.")
    register_with_prometheus([tally], ours)
    gauge = prometheus_client.Gauge("x", "Things.", registry=theirs)
    for change in changes:
        tally.add(change)
        gauge.inc(change)
    assert told(ours) == told(theirs)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(-3, 3))))
def test_a_gauge_with_labels_tells_what_the_librarys_would(values: list[tuple[str, int]]) -> None:
    """The last value that was set, for each that was."""
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    tally = Gauge("x", "Things.", ["kind"])
    register_with_prometheus([tally], ours)
    gauge = prometheus_client.Gauge("x", "Things.", ["kind"], registry=theirs)
    for kind, value in values:
        tally.set((kind,), value)
        gauge.labels(kind).set(value)
    assert told(ours) == told(theirs)


def test_what_nobody_holds_has_no_sample() -> None:
    """It comes with its first holder, and goes with its last."""
    tally = Gauge("x", "Things.", ["kind"])
    for change in (1, 1, -1):
        tally.add_holder(("a",), change)
    tally.add_holder(("b",), 1)
    tally.add_holder(("b",), -1)
    assert tally.samples() == [(("a",), 1)]


def test_nothing_is_lost_between_threads() -> None:
    """Runtimes on several event loops count together."""
    registry = CollectorRegistry()
    tally = Counter("x", "Things.")
    seconds = Histogram("x_seconds", "Time.", [], _BOUNDS)
    gauge = Gauge("x_now", "Things.")
    register_with_prometheus([tally, seconds, gauge], registry)

    def count() -> None:
        for _ in range(5000):
            tally.add(())
            gauge.add(1)
            seconds.observe((), 0.5)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert registry.get_sample_value("x_total") == 20_000
    assert registry.get_sample_value("x_now") == 20_000
    assert registry.get_sample_value("x_seconds_count") == 20_000


def test_what_nobody_reads_does_not_pile_up() -> None:
    """A host that exports no metrics counts for as long as it runs."""
    tally = Counter("x", "Things.", ["kind"])
    seconds = Histogram("x_seconds", "Time.", ["kind"], _BOUNDS)
    for _ in range(10_000):
        tally.add(("a",))
        seconds.observe(("a",), 0.5)
    assert max(len(tally._queued), len(seconds._queued)) <= 256
    assert tally.samples() == [(("a",), 10_000)]
    assert sum(seconds.samples()[0][1]) == 10_000


def joint() -> tuple[Counter, Histogram, JointQueue]:
    tally, seconds = Counter("x", "Things.", ["kind"]), Histogram("x_seconds", "Time.", [], _BOUNDS)

    def count(queued: deque[tuple[str, float]]) -> None:
        for _ in range(len(queued)):
            kind, took = queued.popleft()
            tally.count((kind,))
            seconds.count((), took)

    return tally, seconds, JointQueue(count, tally, seconds)


def test_what_is_counted_together_is_seen_in_each_metric() -> None:
    """Whichever is read first, with what was counted otherwise."""
    tally, seconds, queue = joint()
    queue.put(("a", 0.5))
    tally.add(("a",))
    seconds.observe((), 0.5)
    assert tally.samples() == [(("a",), 2)]
    queue.put(("b", 0.5))
    assert sum(seconds.samples()[0][1]) == 3
    assert sorted(tally.samples()) == [(("a",), 2), (("b",), 1)]


def test_what_is_counted_together_is_not_lost_between_threads() -> None:
    """Readers of the two metrics and those who count do not wait for each other for ever."""
    tally, seconds, queue = joint()

    def count() -> None:
        for number in range(5000):
            queue.put(("a", 0.5))
            if number % 50 == 0:
                tally.samples()
                seconds.samples()

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(queue._queued) <= 256
    assert tally.samples() == [(("a",), 20_000)]
    assert sum(seconds.samples()[0][1]) == 20_000


@given(st.lists(st.one_of(st.sampled_from(_BOUNDS), st.floats(0, 10)), min_size=1))
def test_values_that_are_counted_together_are_in_the_same_buckets(values: list[float]) -> None:
    """As if each were counted by itself."""
    one_by_one, together = (Histogram("x", "Time.", ["kind"], _BOUNDS) for _ in range(2))
    for value in values:
        one_by_one.count(("a",), value)
    together.count_all(("a",), values)
    [(_, expected, total)], [(_, buckets, summed)] = one_by_one.samples(), together.samples()
    assert buckets == expected
    assert summed == pytest.approx(total)


def by_name(count: Callable[[str, int], None]) -> tuple[Counter, JointQueue]:
    """A counter, and a queue of samples for it; `count` is notified before they are counted."""
    tally = Counter("x", "Things.", ["kind"])

    def count_all(name: str, samples: list[tuple[str, int]]) -> None:
        count(name, len(samples))
        tally.count((name,), sum(number for _, number in samples))

    return tally, JointQueue(ByName(count_all), tally)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=600))
def test_samples_of_the_same_name_are_counted_together(samples: list[tuple[str, int]]) -> None:
    """Each of them, whenever the queue was long; and as one, when somebody reads."""
    steps = list[str]()
    tally, queue = by_name(lambda name, _: steps.append(name))
    expected = Counter("x", "Things.", ["kind"])
    for name, number in samples:
        expected.add((name,), number)
        queue.put((name, number))
    steps.clear()
    assert sorted(tally.samples()) == sorted(expected.samples())
    assert len(steps) == len(set(steps))


def test_an_interrupt_loses_the_samples_of_one_name_at_most() -> None:
    """The others are counted when somebody reads again."""
    strikes = [True]

    def interrupt(_name: str, _samples: int) -> None:
        if strikes.pop() if strikes else False:
            raise KeyboardInterrupt

    tally, queue = by_name(interrupt)
    for name in "abcabc":
        queue.put((name, 1))
    with pytest.raises(KeyboardInterrupt):
        tally.samples()
    queue.put(("d", 1))
    found = dict(tally.samples())
    assert len(found) == 3
    assert found.pop(("d",)) == 1
    assert set(found.values()) == {2}


def test_groups_count_each_of_their_names_each_time() -> None:
    """Whether the same group comes several times in a row, or between others."""
    tally = GroupCounter("x", "Things.", ["kind"])
    both, one = ("a", "b"), ("b",)
    for group in (both, both, one, both, one, one):
        tally.add_group(group)
    tally.add(("a",), 0)
    assert tally.samples() == [(("a",), 3), (("b",), 6)]
    for _ in range(10_000):
        tally.add_group(both)
    assert len(tally._queued) <= 256
    assert dict(tally.samples()) == {("a",): 10_003, ("b",): 10_006}


class ReadByAHandler(str):
    """A label whose use reads all metrics, as a handler of a signal may at any moment."""

    read: Callable[[], object] = staticmethod(lambda: None)

    def __hash__(self) -> int:
        type(self).read()
        return super().__hash__()


@pytest.mark.parametrize("kind", ["counter", "histogram"])
def test_a_handler_may_read_what_is_being_added_up(kind: str) -> None:
    """It empties the queue; the reader that it interrupted finds nothing more, and goes on."""
    counter, histogram = Counter("a", "A.", ["x"]), Histogram("b", "B.", ["x"], _BOUNDS)
    read: Callable[[], Sequence[object]]
    read = counter.samples if kind == "counter" else histogram.samples
    for _ in range(3):
        labels = (ReadByAHandler("y"),)
        if kind == "counter":
            counter.add(labels)
        else:
            histogram.observe(labels, 1)
    ReadByAHandler.read = read
    try:
        assert len(read()) == 1
    finally:
        ReadByAHandler.read = staticmethod(lambda: None)


def test_a_handler_that_reads_at_any_moment_changes_no_sum() -> None:
    """It may come between any two instructions of the reader that it interrupts."""
    metrics = Metrics(None)
    reads, is_counting = list[int](), [True]

    def read(*_: object) -> None:
        reads.append(1)
        for metric in (metrics.requests, metrics.request_seconds, metrics.result_bytes):
            metric.samples()
        if is_counting:
            signal.setitimer(signal.ITIMER_REAL, 0.0001)  # again, when this has ended

    def count() -> None:
        for _ in range(20_000):
            metrics.allowed_calls.put(("math.add", 1, 0.5, 2))
            metrics.requests.add(("math.add", "deny", "not_granted", "ok"))
            metrics.request_seconds.observe(("math.add",), 0.25)

    other = threading.Thread(target=count)
    before = signal.signal(signal.SIGALRM, read)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0001)
        other.start()
        count()
        other.join()
    finally:
        is_counting.clear()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert reads  # the handler came
    requests = dict(metrics.requests.samples())
    assert requests["math.add", "allow", "allowed", "ok"] == 40_000
    assert requests["math.add", "deny", "not_granted", "ok"] == 40_000
    assert dict(metrics.result_bytes.samples())["math.add",] == 80_000
    [(_, buckets, total)] = metrics.request_seconds.samples()
    assert (sum(buckets), total) == (80_000, 30_000)
