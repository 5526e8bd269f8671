# %% asyncio gather with return_exceptions
import asyncio


async def fetch(n, delay):
    await asyncio.sleep(delay)
    if n == 2:
        raise ValueError(f"bad {n}")
    return n * 10


async def main():
    results = await asyncio.gather(*(fetch(i, 0.001 * i) for i in range(4)), return_exceptions=True)
    print(results)
    try:
        await asyncio.gather(fetch(2, 0), fetch(3, 0))
    except ValueError as e:
        print("caught", e)


asyncio.run(main())
# %% producer and consumer with a queue
import asyncio


async def producer(q, n):
    for i in range(n):
        await q.put(i)
        await asyncio.sleep(0)
    await q.put(None)


async def consumer(q, out):
    while (item := await q.get()) is not None:
        out.append(item * 2)
        q.task_done()
    q.task_done()


async def main():
    q, out = asyncio.Queue(maxsize=2), []
    await asyncio.gather(producer(q, 5), consumer(q, out))
    await q.join()
    print(out, q.empty(), q.qsize())


if __name__ == "__main__":
    asyncio.run(main())
# %% TaskGroup, timeouts and cancellation
import asyncio


async def slow():
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        print("cancelled")
        raise


async def main():
    try:
        await asyncio.wait_for(slow(), 0.01)
    except asyncio.TimeoutError:
        print("timeout")
    async with asyncio.TaskGroup() as tg:
        a = tg.create_task(asyncio.sleep(0, "a"))
        b = tg.create_task(asyncio.sleep(0, "b"), name="bee")
    print(a.result(), b.result(), b.get_name(), a.done())
    try:
        async with asyncio.timeout(0.01):
            await slow()
    except TimeoutError as e:
        print("timeout 2", type(e).__name__)

    async def bad(n):
        raise ValueError(n)

    try:
        async with asyncio.TaskGroup() as tg:
            tg.create_task(bad(1))
            tg.create_task(bad(2))
    except* ValueError as g:
        print(sorted(str(e) for e in g.exceptions), g.message)
    t = asyncio.create_task(slow())
    await asyncio.sleep(0)
    t.cancel("why")
    try:
        await t
    except asyncio.CancelledError as e:
        print(t.cancelled(), e.args)
    done, pending = await asyncio.wait(
        [asyncio.create_task(asyncio.sleep(0, 1)), asyncio.create_task(asyncio.sleep(5))],
        return_when=asyncio.FIRST_COMPLETED,
    )
    print(len(done), len(pending))
    [p.cancel() for p in pending]


asyncio.run(main())
# %% semaphore, lock, event, condition
import asyncio

active = peak = 0


async def work(i, sem):
    global active, peak
    async with sem:
        active += 1
        peak = max(peak, active)
        await asyncio.sleep(0.001)
        active -= 1
        return i


async def main():
    sem = asyncio.Semaphore(2)
    print(await asyncio.gather(*[work(i, sem) for i in range(6)]), peak)
    ev = asyncio.Event()

    async def waiter():
        await ev.wait()
        return "set"

    t = asyncio.create_task(waiter())
    await asyncio.sleep(0)
    ev.set()
    print(await t)
    lock = asyncio.Lock()
    async with lock:
        print(lock.locked())
    c = asyncio.Condition()
    items = []

    async def consume():
        async with c:
            await c.wait_for(lambda: items)
            return items.pop()

    t = asyncio.create_task(consume())
    await asyncio.sleep(0)
    async with c:
        items.append(7)
        c.notify_all()
    print(await t)


asyncio.run(main())
# %% async generators, comprehensions, context managers
import asyncio
from contextlib import asynccontextmanager, AsyncExitStack


@asynccontextmanager
async def resource(name):
    print("open", name)
    try:
        yield name.upper()
    finally:
        print("close", name)


async def ticker(n):
    for i in range(n):
        yield i
        await asyncio.sleep(0)


class Conn:
    async def __aenter__(self):
        print("enter")
        return self

    async def __aexit__(self, *exc):
        print("exit", exc[0])
        return True


class Pages:
    def __init__(self, n):
        self.n = n

    def __aiter__(self):
        return self

    async def __anext__(self):
        if self.n == 0:
            raise StopAsyncIteration
        self.n -= 1
        return self.n


async def main():
    async with resource("a") as r, Conn():
        print(r)
        raise RuntimeError("x")


async def rest():
    print(
        [i async for i in ticker(4) if i % 2],
        {i: i async for i in Pages(2)},
        await anext(ticker(1)),
    )
    async with AsyncExitStack() as s:
        print([await s.enter_async_context(resource(n)) for n in "xy"])


asyncio.run(main())
asyncio.run(rest())
# %% as_completed, shield, run_in_executor, to_thread
import asyncio, time


async def job(n):
    await asyncio.sleep(n / 500)
    return n


async def main():
    print([await c for c in asyncio.as_completed([job(3), job(1), job(2)])])
    loop = asyncio.get_running_loop()
    print(
        await loop.run_in_executor(None, sum, [1, 2, 3]),
        await asyncio.to_thread(len, "abc"),
        await asyncio.shield(job(1)),
    )
    fut = loop.create_future()
    loop.call_soon(fut.set_result, 5)
    print(await fut)
    start = time.perf_counter()
    await asyncio.gather(*[asyncio.sleep(0.02) for _ in range(5)])
    print(time.perf_counter() - start < 0.09)


asyncio.run(main())
# %% loop.run_until_complete
import asyncio


async def f():
    return 42


loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
try:
    print(loop.run_until_complete(f()))
finally:
    loop.close()
# %% a rate limiter and a retry with backoff in asyncio
import asyncio, random, functools


def retry(n, base=0.0001):
    def deco(fn):
        @functools.wraps(fn)
        async def wrapper(*a, **k):
            for i in range(n):
                try:
                    return await fn(*a, **k)
                except ConnectionError as e:
                    if i == n - 1:
                        raise
                    print("retry", i + 1, e)
                    await asyncio.sleep(base * 2**i)

        return wrapper

    return deco


calls = 0


@retry(4)
async def flaky():
    global calls
    calls += 1
    if calls < 3:
        raise ConnectionError(f"fail {calls}")
    return "ok"


print(asyncio.run(flaky()), asyncio.iscoroutinefunction(flaky), flaky.__name__)
# %% threads that share a counter
import threading


class Counter:
    def __init__(self):
        self.v = 0
        self._lock = threading.Lock()

    def inc(self):
        with self._lock:
            self.v += 1


c = Counter()
ts = [
    threading.Thread(target=lambda: [c.inc() for _ in range(100)], name=f"w{i}", daemon=True)
    for i in range(4)
]
for t in ts:
    t.start()
for t in ts:
    t.join()
print(
    c.v,
    [t.is_alive() for t in ts],
    ts[0].name,
    threading.current_thread().name,
    threading.main_thread() is threading.current_thread(),
)
# %% thread pool executor: map, submit, as_completed
from concurrent.futures import ThreadPoolExecutor, as_completed, wait


def work(n):
    if n == 3:
        raise ValueError("three")
    return n * n


with ThreadPoolExecutor(max_workers=3, thread_name_prefix="w") as ex:
    print(list(ex.map(work, [1, 2, 4])))
    futs = {ex.submit(work, n): n for n in range(5)}
    out = {}
    for f in as_completed(futs):
        try:
            out[futs[f]] = f.result(timeout=5)
        except ValueError as e:
            out[futs[f]] = f"error {e}"
    print(sorted(out.items(), key=str), all(f.done() for f in futs))
    done, not_done = wait([ex.submit(pow, 2, 3)])
    print(done.pop().result(), not_done)
# %% worker thread with a queue and a sentinel
import threading, queue

q, results = queue.Queue(), []


def worker():
    while True:
        item = q.get()
        if item is None:
            break
        results.append(item**2)
        q.task_done()


for i in range(5):
    q.put(i)
q.put(None)
t = threading.Thread(target=worker)
t.start()
t.join()
print(results, q.empty())
# %% worker threads started before the work arrives
# ends: use `asyncio`
import threading, queue

q, results = queue.Queue(), []


def worker():
    while True:
        item = q.get()
        if item is None:
            break
        results.append(item**2)
        q.task_done()


threads = [threading.Thread(target=worker) for _ in range(2)]
for t in threads:
    t.start()
for i in range(5):
    q.put(i)
q.join()
for _ in threads:
    q.put(None)
for t in threads:
    t.join()
print(sorted(results))
# %% an event between two threads
import threading

ready = threading.Event()
out = []


def waiter():
    ready.wait(timeout=5)
    out.append("go")


t = threading.Thread(target=waiter)
t.start()
ready.set()
t.join()
print(out)
# %% thread-local data and a subclass of Thread
import threading

local = threading.local()
seen = []


class T(threading.Thread):
    def __init__(self, n):
        super().__init__()
        self.n, self.result = n, None

    def run(self):
        local.x = self.n
        self.result = local.x * 2


ts = [T(i) for i in range(3)]
[t.start() for t in ts]
[t.join() for t in ts]
print([t.result for t in ts], hasattr(local, "x"))
# %% timer and barrier
# ends: use `asyncio.sleep` in a task
import threading

out = []
t = threading.Timer(0.01, out.append, args=["fired"])
t.start()
t.join()
print(out)
# %% multiprocessing pool
# ends: a worker is one process with one thread
from multiprocessing import Pool


def sq(x):
    return x * x


if __name__ == "__main__":
    with Pool(2) as p:
        print(p.map(sq, [1, 2, 3]))
# %% process pool executor
# ends: use `ThreadPoolExecutor`
from concurrent.futures import ProcessPoolExecutor


def sq(x):
    return x * x


if __name__ == "__main__":
    with ProcessPoolExecutor() as ex:
        print(list(ex.map(sq, [1, 2])))
# %% contextvars across tasks
import asyncio, contextvars

rid = contextvars.ContextVar("rid", default="-")


async def handler(n):
    tok = rid.set(n)
    await asyncio.sleep(0)
    v = rid.get()
    rid.reset(tok)
    return v


async def main():
    print(await asyncio.gather(*(handler(i) for i in "abc")), rid.get())


asyncio.run(main())


# %% generators: send, throw, close, yield from
def averager():
    total = n = 0
    avg = None
    while True:
        try:
            x = yield avg
        except ValueError:
            print("reset")
            total = n = 0
            avg = None
            continue
        total += x
        n += 1
        avg = total / n


g = averager()
next(g)
print(g.send(10), g.send(20))
g.throw(ValueError)
print(g.send(4))
g.close()


def inner():
    r = yield 1
    print("got", r)
    return "ret"


def outer():
    v = yield from inner()
    yield v


o = outer()
print(next(o), o.send("s"))


def fib():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b


from itertools import islice

print(list(islice(fib(), 10)))


def clean():
    try:
        yield 1
    finally:
        print("closed")


for x in clean():
    break


def flat(x):
    for i in x:
        if isinstance(i, list):
            yield from flat(i)
        else:
            yield i


print(list(flat([1, [2, [3, []]]])), sum(x * x for x in range(5)), next((x for x in []), "none"))
# %% contextlib tools
from contextlib import (
    contextmanager,
    suppress,
    closing,
    ExitStack,
    nullcontext,
    redirect_stdout,
    ContextDecorator,
)
import io


@contextmanager
def tag(n):
    print(f"<{n}>")
    try:
        yield n
    except KeyError as e:
        print("swallowed", e)
    finally:
        print(f"</{n}>")


with tag("b") as t:
    print(t)
    raise KeyError("k")
with suppress(ZeroDivisionError):
    1 / 0
with ExitStack() as s:
    for n in "xy":
        s.enter_context(tag(n))
    s.callback(print, "callback")
buf = io.StringIO()
with redirect_stdout(buf):
    print("hidden")
print(repr(buf.getvalue()))


class Deco(ContextDecorator):
    def __enter__(self):
        print("in")

    def __exit__(self, *a):
        print("out")


@Deco()
def f():
    print("f")


f()
with closing(io.StringIO("x")) as c, nullcontext(5) as n:
    print(c.read(), n)
# %% asyncio streams and subprocess are not there
# ends: there are no other processes here
import asyncio


async def main():
    p = await asyncio.create_subprocess_exec("ls")
    print(p)


asyncio.run(main())
