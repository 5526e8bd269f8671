"""(8) Metrics as plain numbers; `prometheus` makes samples of the library from them.

The library's own metrics need a dozen function calls to add one to a number, which is a tenth of a
whole capability call. It also imports a web server: a command that does not export its metrics
starts without it.

What counters and histograms count is put into a queue, which any thread may do without a lock. It
is added up when somebody reads the metric, or when the queue is long.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

Labels = tuple[str, ...]

# How much may be counted before it is added up: a few tens of kilobytes for each metric.
_MAX_QUEUED: Final = 256


class Metric:
    """The base of all metrics: a name, a help text, and the names of the labels of a sample."""

    # One for all metrics, which are rarely added up: with several, a reader and the handler of a
    # signal could wait for each other. Python 3.14 lets an interrupt come between taking a lock and
    # the block that it guards, so that it stays taken. The thread that was interrupted can still
    # take this one again.
    lock = threading.RLock()

    def __init__(self, name: str, documentation: str, labels: Sequence[str] = ()) -> None:
        self.name = name
        self.documentation = documentation
        self.labels = tuple(labels)


class Adding:
    """Adds up what is queued, one queue of all metrics at a time.

    The handler of a signal may read metrics in the middle of that, in the same thread, which has
    the lock. It then adds nothing, and sees what was added before.
    """

    # Of all metrics, since several queues are added to the same values. Under their lock.
    _is_adding: ClassVar[bool] = False

    def add_up(self) -> None:
        """Count what is queued."""
        with Metric.lock:
            is_nested = Adding._is_adding
            try:
                if not is_nested:
                    Adding._is_adding = True
                    self._count_queued()
            finally:
                if not is_nested:
                    Adding._is_adding = False

    def _count_queued(self) -> None:
        """Add what is queued to the values, one by one: an interrupt loses one at most."""
        raise NotImplementedError


class QueuedMetric(Metric, Adding):
    """A metric whose values wait in a queue until they are added up."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, documentation, labels)
        self._queued: deque[Any] = deque()
        self.joined: list[JointQueue] = []
        """Where samples of this metric wait together with those of others."""

    def _put(self, item: Any) -> None:
        queued = self._queued
        queued.append(item)
        if len(queued) > _MAX_QUEUED:
            self.add_up()

    def _add_all_up(self) -> None:
        for queue in self.joined:
            queue.add_up()
        self.add_up()


class JointQueue(Adding):
    """Samples of several metrics that are counted together: one append for all of them."""

    def __init__(self, count: Callable[[deque[Any]], None], *metrics: QueuedMetric) -> None:
        """`count` takes the items out and adds them to the `metrics`, when somebody reads any."""
        self._count = count
        self._queued: deque[Any] = deque()
        for metric in metrics:
            metric.joined.append(self)

    def put(self, item: Any) -> None:
        queued = self._queued
        queued.append(item)
        if len(queued) > _MAX_QUEUED:
            self.add_up()

    def _count_queued(self) -> None:
        self._count(self._queued)


class ByName:
    """Adds up what a `JointQueue` has: samples that begin with the same name as one.

    That takes a third of the time. An interrupt loses some of one name at most, or counts them in
    some of the metrics only; the others wait here until the queue is added up again.
    """

    def __init__(self, count: Callable[[str, list[Any]], None]) -> None:
        """`count` adds samples of the same name to the metrics."""
        self._count = count
        self._samples: defaultdict[str, list[Any]] = defaultdict(list)

    def __call__(self, queued: deque[Any]) -> None:
        by_name = self._samples
        while queued:
            sample = queued.popleft()
            by_name[sample[0]].append(sample)
        while by_name:
            self._count(*by_name.popitem())


class Counter(QueuedMetric):
    """A counter; `labels` of one sample are a tuple in the order of the names."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, documentation, labels)
        self._values: dict[Labels, float] = {}
        if not labels:
            self.begin(())  # like the library: the sample exists from the start

    def begin(self, labels: Labels) -> None:
        """Add a sample of zero for these labels, before anything is counted."""
        with self.lock:
            self._values.setdefault(labels, 0)

    def add(self, labels: Labels, amount: float = 1) -> None:
        self._put((labels, amount))

    def count(self, labels: Labels, amount: float = 1) -> None:
        """`add` for a `JointQueue`, under the lock."""
        self._values[labels] = self._values.get(labels, 0) + amount

    def _count_queued(self) -> None:
        queued, values = self._queued, self._values
        while queued:
            labels, amount = queued.popleft()
            values[labels] = values.get(labels, 0) + amount

    def samples(self) -> list[tuple[Labels, float]]:
        """All current values."""
        with self.lock:
            self._add_all_up()
            return list(self._values.items())


class GroupCounter(Counter):
    """A counter with one label, whose samples can be counted in groups, mostly the same one again.

    A group may have thousands of samples, so those that come in a row and are the same object are
    added up as one: an interrupt loses one such row at most.
    """

    def add_group(self, names: Sequence[str]) -> None:
        """Add one to the sample of each name. The names must not change afterwards."""
        self._put((None, names))

    def _count_queued(self) -> None:
        queued = self._queued
        while queued:
            labels, added = queued.popleft()
            if labels is not None:
                self.count(labels, added)
                continue
            times = 1
            while queued and queued[0][0] is None and queued[0][1] is added:
                queued.popleft()
                times += 1
            for name in added:
                self.count((name,), times)


class Gauge(Metric):
    """Numbers that go up and down."""

    def __init__(self, name: str, documentation: str, labels: Sequence[str] = ()) -> None:
        super().__init__(name, documentation, labels)
        self._values: dict[Labels, float] = {} if labels else {(): 0}

    def add(self, change: float) -> None:
        """Change the value of a gauge without labels."""
        with self.lock:
            self._values[()] += change

    def set(self, labels: Labels, value: float) -> None:
        with self.lock:
            self._values[labels] = value

    def add_holder(self, labels: Labels, change: int) -> None:
        """Count the objects with `labels`; a count of zero has no sample."""
        with self.lock:
            count = self._values.pop(labels, 0) + change
            if count:
                self._values[labels] = count

    def samples(self) -> list[tuple[Labels, float]]:
        """All current values."""
        with self.lock:
            return list(self._values.items())


class Histogram(QueuedMetric):
    """A histogram with the upper bounds `buckets`, and one more bucket for all larger values."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], buckets: Sequence[float]
    ) -> None:
        super().__init__(name, documentation, labels)
        self.bounds = (*buckets, float("inf"))
        # The count of each bucket, not cumulative, and last the sum of all values.
        self._rows: dict[Labels, list[float]] = {}
        if not labels:
            self._begin(())  # like the library: the sample exists from the start

    def observe(self, labels: Labels, value: float, times: int = 1) -> None:
        self._put((labels, value, times))

    def _count_queued(self) -> None:
        queued = self._queued
        while queued:
            self.count(*queued.popleft())

    def count(self, labels: Labels, value: float, times: int = 1) -> None:
        """`observe` for a `JointQueue`, under the lock."""
        row = self._rows.get(labels) or self._begin(labels)
        row[bisect_left(self.bounds, value)] += times
        row[-1] += value * times

    def count_all(self, labels: Labels, values: Sequence[float]) -> None:
        """`count` of each of the values, of which there is at least one."""
        row = self._rows.get(labels) or self._begin(labels)
        row[-1] += sum(values)
        ordered, counted = sorted(values), 0
        for bucket in range(bisect_left(self.bounds, ordered[0]), len(self.bounds)):
            until = bisect_right(ordered, self.bounds[bucket], counted)
            row[bucket] += until - counted
            counted = until
            if counted == len(ordered):
                break

    def _begin(self, labels: Labels) -> list[float]:
        row = self._rows[labels] = [*[0] * len(self.bounds), 0.0]
        return row

    def samples(self) -> list[tuple[Labels, list[float], float]]:
        """By labels: the count of each bucket, not cumulative, and the sum of all values."""
        with self.lock:
            self._add_all_up()
            return [(key, row[:-1], row[-1]) for key, row in list(self._rows.items())]
