# `threading`, `queue` and `concurrent.futures`
import queue
import threading
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor, as_completed

lock = threading.Lock()
total = 0


def add(n):
    global total
    with lock:
        total += n


threads = [threading.Thread(target=add, args=(n,), daemon=True) for n in range(5)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert total == 10 and not any(thread.is_alive() for thread in threads)


class Worker(threading.Thread):
    def __init__(self, text):
        super().__init__(name="worker")
        self.text = text
        self.answer = None

    def run(self):
        self.answer = self.text.upper()


worker = Worker("done")
worker.start()
worker.join()
assert (worker.answer, worker.name) == ("DONE", "worker")

work = queue.Queue()
done = threading.Event()


def produce():
    for n in range(3):
        work.put(n)
    work.put(None)


def consume(out):
    while (item := work.get()) is not None:
        out.append(item)
        work.task_done()
    done.set()


taken = []
producer = threading.Thread(target=produce)
producer.start()
consumer = threading.Thread(target=consume, args=(taken,))
consumer.start()
producer.join()
consumer.join()
assert taken == [0, 1, 2] and done.wait(1)
first = queue.PriorityQueue()
for n in (3, 1, 2):
    first.put(n)
assert [first.get() for _ in range(3)] == [1, 2, 3]
try:
    first.get_nowait()
    raise AssertionError
except queue.Empty:
    pass

with ThreadPoolExecutor(max_workers=4) as pool:
    assert list(pool.map(pow, [2, 3], [3, 2])) == [8, 9]
    waiting = {pool.submit(int, text): text for text in ("1", "x")}
    seen = {}
    for future in as_completed(waiting):
        try:
            seen[waiting[future]] = future.result()
        except ValueError as error:
            seen[waiting[future]] = type(error).__name__
assert seen == {"1": 1, "x": "ValueError"}
assert futures.wait(waiting).not_done == set()
mine = threading.local()
mine.value = 1
other = []
t = threading.Thread(target=lambda: other.append(hasattr(mine, "value")))
t.start()
t.join()
assert other == [False] and mine.value == 1
assert threading.current_thread().name == "MainThread"
