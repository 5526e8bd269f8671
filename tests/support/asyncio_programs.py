"""Programs that use `asyncio`, each with an output that depends on how it behaves.

They work with every supported Python, and never print what asyncio does not promise: the order of
a set, an address, the message of its own error.
"""

from __future__ import annotations

_NOTED = """
async def noted(name, seconds=0, error=None):
    print(name, "starts")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError as cancelled:
        print(name, "cancelled", cancelled.args)
        raise
    if error is not None:
        print(name, "fails")
        raise error
    print(name, "ends")
    return name
"""

PROGRAMS: dict[str, str] = {
    # -- sleep, run, tasks ----------------------------------------------------------------------
    "run gives the result": """
async def main():
    return 7
print(asyncio.run(main()))
""",
    "run raises the error": """
async def main():
    raise KeyError("x")
try:
    asyncio.run(main())
except KeyError as error:
    print(error)
""",
    "an uncaught error ends the program": """
async def main():
    print("before")
    raise ValueError("uncaught")
asyncio.run(main())
""",
    "two runs": """
async def main(n):
    await asyncio.sleep(n)
    return n
print(asyncio.run(main(1)), asyncio.run(main(2)))
""",
    "run cancels what main left running": """
async def main():
    asyncio.create_task(noted("left", 100))
    await asyncio.sleep(1)
    print("main ends")
asyncio.run(main())
print("after")
""",
    "a task that was only just made gets its first step": """
async def main():
    asyncio.create_task(noted("left", 100))
    print("main ends")
asyncio.run(main())
""",
    "what is left may clean up, and that may take time": """
async def slow_end():
    try:
        await asyncio.sleep(100)
    finally:
        await asyncio.sleep(3)
        print("cleaned")
async def main():
    asyncio.create_task(slow_end())
    await asyncio.sleep(0)
asyncio.run(main())
print("after")
""",
    "a cancellation that nobody asked for": """
async def main():
    raise asyncio.CancelledError("mine")
try:
    asyncio.run(main())
except asyncio.CancelledError as error:
    print("cancelled", error.args)
""",
    "sleep gives its result": """
async def main():
    print(await asyncio.sleep(1, "x"), await asyncio.sleep(0, result=5), await asyncio.sleep(-1))
asyncio.run(main())
""",
    "sleepers wake in the order of their time": """
async def main():
    await asyncio.gather(*(noted(n, n) for n in (3, 1, 2)))
asyncio.run(main())
""",
    "sleep zero takes turns": """
async def counting(name):
    for n in range(3):
        print(name, n)
        await asyncio.sleep(0)
async def main():
    await asyncio.gather(counting("a"), counting("b"), counting("c"))
asyncio.run(main())
""",
    "a bare yield takes turns": """
class Pause:
    def __await__(self):
        yield
async def counting(name):
    for n in range(3):
        print(name, n)
        await Pause()
async def main():
    await asyncio.gather(counting("a"), counting("b"))
asyncio.run(main())
""",
    "turns of timers, futures and tasks": """
async def waits(name, future):
    print(name, await future)
async def main():
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    tasks = [asyncio.create_task(waits(n, future)) for n in "ab"]
    loop.call_later(1, print, "later")
    loop.call_soon(print, "soon")
    loop.call_later(1, future.set_result, "done")
    for n in range(3):
        await asyncio.sleep(0)
        print("turn", n)
    await asyncio.sleep(1)
    print("slept")
    await asyncio.wait(tasks)
asyncio.run(main())
""",
    "a task starts later and is awaited twice": """
async def main():
    task = asyncio.create_task(noted("t", 1))
    print("made", task.done())
    print(await task, await task, task.done(), task.result(), task.exception())
asyncio.run(main())
""",
    "names of tasks": """
async def main():
    task = asyncio.create_task(noted("t"), name="mine")
    print(task.get_name())
    task.set_name(5)
    print(task.get_name(), asyncio.current_task() is task, asyncio.current_task() is not None)
    await task
    print([isinstance(task, kind) for kind in (asyncio.Task, asyncio.Future)])
asyncio.run(main())
""",
    "all tasks": """
async def main():
    tasks = {asyncio.create_task(noted(n, n)) for n in (1, 2)}
    print(asyncio.all_tasks() == tasks | {asyncio.current_task()})
    await asyncio.sleep(1.5)
    print(len(asyncio.all_tasks()))
    await asyncio.wait(tasks)
    print(asyncio.all_tasks() == {asyncio.current_task()})
asyncio.run(main())
""",
    "create_task refuses what is no coroutine": """
async def main():
    for wrong in (None, 1, noted, asyncio.get_running_loop().create_future()):
        try:
            asyncio.create_task(wrong)
        except TypeError:
            print("TypeError")
asyncio.run(main())
""",
    "what is what": """
async def main():
    coroutine = noted("c")
    print(asyncio.iscoroutine(coroutine), asyncio.iscoroutine(noted), asyncio.iscoroutine(1))
    print(asyncio.iscoroutinefunction(noted), asyncio.iscoroutinefunction(print))
    task = asyncio.ensure_future(coroutine)
    print(asyncio.isfuture(task), asyncio.isfuture(coroutine), asyncio.ensure_future(task) is task)
    await task
asyncio.run(main())
""",
    "a loop of the old school": """
async def main():
    await asyncio.sleep(2)
    return asyncio.get_event_loop().time()
loop = asyncio.new_event_loop()
asyncio.set_event_loop(loop)
print(loop.run_until_complete(main()), loop.is_running(), loop.is_closed())
loop.close()
""",
    "handles": """
async def main():
    loop = asyncio.get_running_loop()
    first = loop.call_later(1, print, "never")
    second = loop.call_at(loop.time() + 2, print, "a", "b")
    third = loop.call_soon(print, "never")
    first.cancel()
    third.cancel()
    print(first.cancelled(), second.cancelled(), second.when(), loop.is_running())
    await asyncio.sleep(3)
asyncio.run(main())
""",
    "to_thread and run_in_executor give results and errors": """
def work(n, *, plus=0):
    return 10 // n + plus
async def main():
    print(await asyncio.to_thread(work, 2, plus=1))
    for call in (asyncio.to_thread(work, 0),
                 asyncio.get_running_loop().run_in_executor(None, work, 0)):
        try:
            await call
        except ZeroDivisionError:
            print("ZeroDivisionError")
asyncio.run(main())
""",
    # -- futures --------------------------------------------------------------------------------
    "a future and its states": """
async def main():
    future = asyncio.Future()
    print(future.done(), future.cancelled())
    for ask in (future.result, future.exception):
        try:
            ask()
        except asyncio.InvalidStateError:
            print("not yet")
    future.set_result(3)
    print(future.done(), future.result(), future.exception(), await future)
    for change in (future.set_result, future.set_exception):
        try:
            change(ValueError())
        except asyncio.InvalidStateError:
            print("already")
    print(future.cancel())
asyncio.run(main())
""",
    "a future that fails": """
async def main():
    for error in (KeyError("k"), LookupError):
        future = asyncio.Future()
        future.set_exception(error)
        try:
            await future
        except LookupError as caught:
            print(type(caught).__name__, caught, future.exception() is caught, future.cancelled())
asyncio.run(main())
""",
    "callbacks of a future": """
async def main():
    future = asyncio.Future()
    def first(f):
        print("first", f is future)
    def second(f):
        print("second", f.result())
    future.add_done_callback(first)
    future.add_done_callback(second)
    future.add_done_callback(first)
    print(future.remove_done_callback(first), future.remove_done_callback(print))
    future.set_result(1)
    print("set")
    await asyncio.sleep(0)
    future.add_done_callback(first)
    print("late")
    await asyncio.sleep(0)
asyncio.run(main())
""",
    "callbacks that are methods": """
class Ear:
    def hear(self, future):
        print("heard", future.result())
async def main():
    ear, future = Ear(), asyncio.Future()
    future.add_done_callback(ear.hear)
    future.add_done_callback(ear.hear)
    print(future.remove_done_callback(ear.hear))
    future.add_done_callback(ear.hear)
    future.set_result(1)
    await asyncio.sleep(0)
asyncio.run(main())
""",
    "a callback that fails does not stop the others": """
async def main():
    future = asyncio.Future()
    future.add_done_callback(lambda f: 1 / 0)
    future.add_done_callback(lambda f: print("second"))
    future.set_result(1)
    await asyncio.sleep(0)
    print("goes on")
asyncio.run(main())
""",
    "a cancelled future": """
async def main():
    future = asyncio.Future()
    print(future.cancel("why"), future.cancel(), future.cancelled(), future.done())
    for _ in range(2):
        try:
            await future
        except asyncio.CancelledError as error:
            print(error.args)
    try:
        future.exception()
    except asyncio.CancelledError as error:
        print(error.args)
asyncio.run(main())
""",
    "a task sets its result itself": """
async def main():
    task = asyncio.create_task(noted("t"))
    for change in (task.set_result, task.set_exception):
        try:
            change(ValueError())
        except RuntimeError:
            print("RuntimeError")
    await task
asyncio.run(main())
""",
    # -- cancellation ---------------------------------------------------------------------------
    "cancel with a message": """
async def main():
    task = asyncio.create_task(noted("t", 10))
    await asyncio.sleep(0)
    print(task.cancel("stop"), task.cancelled(), task.cancelling())
    try:
        await task
    except asyncio.CancelledError as error:
        print("main", error.args, task.cancelled(), task.cancel())
    try:
        task.result()
    except asyncio.CancelledError as error:
        print("again", error.args)
asyncio.run(main())
""",
    "cancel before the start": """
async def main():
    task = asyncio.create_task(noted("never", 10))
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        print("cancelled", task.cancelled())
asyncio.run(main())
""",
    "cancel that is swallowed": """
async def stubborn():
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        print("swallowed")
    await asyncio.sleep(1)
    return "kept"
async def main():
    task = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    task.cancel()
    print(await task, task.cancelled(), task.cancelling())
asyncio.run(main())
""",
    "cancel reaches through awaits": """
async def inner():
    try:
        await asyncio.sleep(10)
    finally:
        await asyncio.sleep(1)
        print("inner")
async def outer():
    try:
        await asyncio.create_task(inner())
    finally:
        print("outer")
async def main():
    task = asyncio.create_task(outer())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    print(await asyncio.gather(task, return_exceptions=True))
asyncio.run(main())
""",
    "a task cancels itself": """
async def main():
    asyncio.current_task().cancel("me")
    print("still here")
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError as error:
        print(error.args, asyncio.current_task().cancelling(), asyncio.current_task().uncancel())
    await asyncio.sleep(1)
    print("goes on")
asyncio.run(main())
""",
    "a task cancels itself and ends": """
async def selfish():
    asyncio.current_task().cancel()
    return 1
async def main():
    task = asyncio.create_task(selfish())
    print(type((await asyncio.gather(task, return_exceptions=True))[0]).__name__, task.cancelled())
asyncio.run(main())
""",
    "cancelled twice while it cleans up": """
async def careful():
    try:
        await asyncio.sleep(10)
    finally:
        try:
            await asyncio.sleep(5)
            print("never")
        finally:
            print("interrupted")
async def main():
    task = asyncio.create_task(careful())
    for _ in range(2):
        await asyncio.sleep(1)
        task.cancel()
    await asyncio.wait([task])
    print(task.cancelled(), task.cancelling())
asyncio.run(main())
""",
    "a cancellation turned into an error": """
async def turns():
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        raise ValueError("instead") from None
async def main():
    task = asyncio.create_task(turns())
    await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except ValueError as error:
        print(error, task.cancelled())
asyncio.run(main())
""",
    "cancelling what is about to wake": """
async def waits(future):
    try:
        await future
    except asyncio.CancelledError as error:
        print("cancelled", error.args)
    await asyncio.sleep(1)
    return "kept"
async def main():
    future = asyncio.Future()
    task = asyncio.create_task(waits(future))
    await asyncio.sleep(0)
    future.set_result(1)
    task.cancel("late")
    print(await task)
asyncio.run(main())
""",
    # -- gather ---------------------------------------------------------------------------------
    "gather keeps the order": """
async def main():
    print(await asyncio.gather(noted("a", 2), noted("b", 1), noted("c", 3)))
asyncio.run(main())
""",
    "gather of nothing": """
async def main():
    print(await asyncio.gather(), await asyncio.gather(return_exceptions=True))
asyncio.run(main())
""",
    "gather raises the first error, the others go on": """
async def main():
    try:
        await asyncio.gather(
            noted("a", 1, ValueError("a")), noted("b", 2), noted("c", 3, KeyError()))
    except ValueError as error:
        print("caught", error)
    await asyncio.sleep(5)
asyncio.run(main())
""",
    "gather gives errors as results": """
async def main():
    print(await asyncio.gather(
        noted("a", 1, ValueError("a")), noted("b", 2), noted("c", 0, KeyError("c")),
        return_exceptions=True))
asyncio.run(main())
""",
    "gather that is cancelled cancels all": """
async def main():
    together = asyncio.gather(noted("a", 10), noted("b", 20))
    await asyncio.sleep(1)
    print(together.cancel("enough"), together.cancelled(), together.done())
    try:
        await together
    except asyncio.CancelledError as error:
        print("cancelled", error.args, together.done())
asyncio.run(main())
""",
    "gather that is cancelled tells so even if it gives errors as results": """
async def main():
    together = asyncio.gather(noted("a", 10), noted("b", 20), return_exceptions=True)
    await asyncio.sleep(1)
    together.cancel()
    try:
        print(await together)
    except asyncio.CancelledError:
        print("cancelled")
asyncio.run(main())
""",
    "a task that gathers is cancelled": """
async def gathers():
    try:
        await asyncio.gather(noted("a", 10), noted("b", 20))
    finally:
        print("gathers ends")
async def main():
    task = asyncio.create_task(gathers())
    await asyncio.sleep(1)
    task.cancel()
    print(await asyncio.gather(task, return_exceptions=True))
asyncio.run(main())
""",
    "one of those gathered is cancelled": """
async def main():
    first = asyncio.create_task(noted("a", 10))
    other = asyncio.create_task(noted("b", 2))
    await asyncio.sleep(1)
    first.cancel("only you")
    try:
        await asyncio.gather(first, other)
    except asyncio.CancelledError as error:
        print("caught", error.args)
    print(await other)
    print(await asyncio.gather(first, other, return_exceptions=True))
asyncio.run(main())
""",
    "gather of the same one twice": """
async def main():
    coroutine = noted("once", 1)
    print(await asyncio.gather(coroutine, coroutine, noted("other")))
asyncio.run(main())
""",
    "gather of futures, tasks, coroutines and other awaitables": """
class Custom:
    def __init__(self, future):
        self.future = future
    def __await__(self):
        return (yield from self.future)
async def main():
    future, late = asyncio.Future(), asyncio.Future()
    asyncio.get_running_loop().call_later(1, future.set_result, "future")
    asyncio.get_running_loop().call_later(2, late.set_result, "custom")
    task = asyncio.create_task(noted("task", 1))
    print(await asyncio.gather(future, task, noted("coroutine"), Custom(late)))
asyncio.run(main())
""",
    "gather inside gather": """
async def main():
    print(await asyncio.gather(asyncio.gather(noted("a", 2), noted("b", 1)), noted("c", 1)))
asyncio.run(main())
""",
    "gather of what cannot be awaited": """
async def main():
    try:
        asyncio.gather(1)
    except TypeError:
        print("TypeError")
asyncio.run(main())
""",
    # -- wait, as_completed, shield -------------------------------------------------------------
    "wait for all": """
async def main():
    tasks = [asyncio.create_task(noted(n, n)) for n in (2, 1)]
    done, pending = await asyncio.wait(tasks)
    print(sorted(t.result() for t in done), pending)
asyncio.run(main())
""",
    "wait for the first": """
async def main():
    tasks = [asyncio.create_task(noted(n, n)) for n in (2, 1, 3)]
    while tasks:
        done, tasks = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        print([t.result() for t in done], len(tasks))
asyncio.run(main())
""",
    "wait for the first error": """
async def main():
    tasks = [asyncio.create_task(each) for each in (
        noted("a", 1), noted("b", 2, ValueError("b")), noted("c", 3))]
    done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    print(len(done), len(pending), tasks[1].exception())
    print(await tasks[2])
asyncio.run(main())
""",
    "wait with a timeout": """
async def main():
    tasks = [asyncio.create_task(noted(n, n)) for n in (1, 10)]
    done, pending = await asyncio.wait(tasks, timeout=5)
    print([t.result() for t in done], len(pending), asyncio.get_running_loop().time())
    done, pending = await asyncio.wait(pending, timeout=0)
    print(len(done), len(pending))
asyncio.run(main())
""",
    "wait refuses": """
async def main():
    task = asyncio.create_task(noted("t"))
    for wrong in ([], task):
        try:
            await asyncio.wait(wrong)
        except (TypeError, ValueError) as error:
            print(type(error).__name__)
    try:
        await asyncio.wait([task], return_when="SOMETIME")
    except ValueError:
        print("ValueError")
    await task
asyncio.run(main())
""",
    "wait that is cancelled leaves its tasks alone": """
async def main():
    task = asyncio.create_task(noted("t", 5))
    waiting = asyncio.create_task(asyncio.wait([task]))
    await asyncio.sleep(1)
    waiting.cancel()
    print(type((await asyncio.gather(waiting, return_exceptions=True))[0]).__name__)
    print(await task)
asyncio.run(main())
""",
    "as_completed": """
async def main():
    tasks = [asyncio.create_task(noted(n, n)) for n in (3, 1, 2)]
    for next_one in asyncio.as_completed(tasks):
        print("got", await next_one)
asyncio.run(main())
""",
    "as_completed with errors": """
async def main():
    tasks = [asyncio.create_task(each) for each in (
        noted("a", 2, ValueError("a")), noted("b", 1))]
    for next_one in asyncio.as_completed(tasks):
        try:
            print("got", await next_one)
        except ValueError as error:
            print("caught", error)
    print(list(asyncio.as_completed([])))
asyncio.run(main())
""",
    "as_completed with a timeout": """
async def main():
    tasks = [asyncio.create_task(noted(n, n)) for n in (1, 10, 20)]
    for next_one in asyncio.as_completed(tasks, timeout=5):
        try:
            print("got", await next_one)
        except TimeoutError:
            print("TimeoutError", asyncio.get_running_loop().time())
    print([t.done() for t in tasks])
    print(await asyncio.gather(*tasks))
asyncio.run(main())
""",
    "shield": """
async def main():
    inner = asyncio.create_task(noted("inner", 5))
    async def waits():
        return await asyncio.shield(inner)
    outer = asyncio.create_task(waits())
    await asyncio.sleep(1)
    outer.cancel()
    print(type((await asyncio.gather(outer, return_exceptions=True))[0]).__name__, inner.done())
    print(await asyncio.shield(inner), await asyncio.shield(noted("other", 1)))
asyncio.run(main())
""",
    "shield passes on": """
async def main():
    try:
        await asyncio.shield(noted("fails", 1, KeyError("k")))
    except KeyError as error:
        print("caught", error)
    task = asyncio.create_task(noted("t", 5))
    shielded = asyncio.shield(task)
    await asyncio.sleep(1)
    task.cancel()
    try:
        await shielded
    except asyncio.CancelledError:
        print(shielded.cancelled())
asyncio.run(main())
""",
    # -- timeouts -------------------------------------------------------------------------------
    "wait_for in time": """
async def main():
    print(await asyncio.wait_for(noted("a", 1), 5), await asyncio.wait_for(noted("b", 9), None))
    print(asyncio.get_running_loop().time())
    try:
        await asyncio.wait_for(noted("c", 1, KeyError("k")), timeout=5)
    except KeyError as error:
        print("caught", error)
asyncio.run(main())
""",
    "wait_for too late": """
async def slow():
    try:
        await asyncio.sleep(100)
    finally:
        await asyncio.sleep(1)
        print("cleaned")
async def main():
    try:
        await asyncio.wait_for(slow(), 2)
    except asyncio.TimeoutError as error:
        print(repr(error), error.args, asyncio.get_running_loop().time())
    print(asyncio.current_task().cancelling())
asyncio.run(main())
""",
    "wait_for no time at all": """
async def main():
    for seconds in (0, -1):
        try:
            await asyncio.wait_for(noted("never", 1), seconds)
        except TimeoutError:
            print("TimeoutError")
    done = asyncio.Future()
    done.set_result("there")
    print(await asyncio.wait_for(done, 0))
asyncio.run(main())
""",
    "wait_for that is cancelled": """
async def main():
    task = asyncio.create_task(asyncio.wait_for(noted("t", 100), 50))
    await asyncio.sleep(1)
    task.cancel()
    print(type((await asyncio.gather(task, return_exceptions=True))[0]).__name__)
asyncio.run(main())
""",
    "wait_for of a task, shielded": """
async def main():
    task = asyncio.create_task(noted("t", 5))
    try:
        await asyncio.wait_for(asyncio.shield(task), 1)
    except TimeoutError:
        print("late", task.done())
    print(await task)
asyncio.run(main())
""",
    "timeout in time": """
async def main():
    async with asyncio.timeout(5) as limit:
        print(await asyncio.sleep(1, "x"), limit.when(), limit.expired())
    print(limit.expired())
    async with asyncio.timeout(None) as limit:
        await asyncio.sleep(100)
    print(limit.when())
asyncio.run(main())
""",
    "timeout too late": """
async def main():
    try:
        async with asyncio.timeout(2) as limit:
            await noted("t", 100)
    except TimeoutError as error:
        print(type(error.__cause__).__name__, limit.expired(), asyncio.get_running_loop().time())
    print(asyncio.current_task().cancelling())
    await asyncio.sleep(1)
    print("goes on")
asyncio.run(main())
""",
    "timeout that is past": """
async def main():
    for when in (0, -5):
        try:
            async with asyncio.timeout(when):
                print("in")
                await asyncio.sleep(0)
                print("after a turn")
                await asyncio.sleep(0)
                print("never")
        except TimeoutError:
            print("TimeoutError")
    async with asyncio.timeout(0):
        print("no await, no timeout")
asyncio.run(main())
""",
    "timeout_at and reschedule": """
async def main():
    now = asyncio.get_running_loop().time
    async with asyncio.timeout_at(now() + 1) as limit:
        limit.reschedule(now() + 10)
        await asyncio.sleep(5)
        print("still in", limit.when())
        limit.reschedule(None)
        await asyncio.sleep(50)
    try:
        limit.reschedule(1)
    except RuntimeError:
        print("RuntimeError")
    try:
        async with asyncio.timeout(None) as limit:
            limit.reschedule(now() + 1)
            await asyncio.sleep(5)
    except TimeoutError:
        print("TimeoutError", now())
asyncio.run(main())
""",
    "timeouts inside each other": """
async def main():
    try:
        async with asyncio.timeout(1) as outer:
            try:
                async with asyncio.timeout(5) as inner:
                    await asyncio.sleep(10)
            except TimeoutError:
                print("never: not the inner one's")
    except TimeoutError:
        print(outer.expired(), inner.expired())
    async with asyncio.timeout(5) as outer:
        try:
            async with asyncio.timeout(1) as inner:
                await asyncio.sleep(10)
        except TimeoutError:
            print(outer.expired(), inner.expired())
        await asyncio.sleep(1)
        print("goes on")
asyncio.run(main())
""",
    "a timeout and an error": """
async def main():
    try:
        async with asyncio.timeout(1):
            raise KeyError("mine")
    except KeyError as error:
        print(error)
    try:
        async with asyncio.timeout(1):
            try:
                await asyncio.sleep(5)
            finally:
                raise ValueError("while cancelled")
    except ValueError as error:
        print(error, asyncio.current_task().cancelling())
asyncio.run(main())
""",
    "a timeout and a cancellation from outside": """
async def limited():
    try:
        async with asyncio.timeout(5):
            await asyncio.sleep(10)
    except TimeoutError:
        print("never")
async def main():
    task = asyncio.create_task(limited())
    await asyncio.sleep(1)
    task.cancel("outside")
    try:
        await task
    except asyncio.CancelledError as error:
        print("cancelled", error.args)
asyncio.run(main())
""",
    "a timeout is entered once": """
async def main():
    limit = asyncio.timeout(1)
    async with limit:
        pass
    try:
        async with limit:
            print("never")
    except RuntimeError:
        print("RuntimeError")
asyncio.run(main())
""",
    # -- task groups ----------------------------------------------------------------------------
    "a group waits for all": """
async def main():
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(noted(n, n), name=f"t{n}") for n in (2, 1)]
        print("body ends")
    print([t.result() for t in tasks], [t.get_name() for t in tasks])
asyncio.run(main())
""",
    "a group stops at the first error": """
async def main():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(noted("a", 1, ValueError("a")))
            group.create_task(noted("b", 10))
            await asyncio.sleep(100)
            print("never")
    except* ValueError as caught:
        print(caught.message, caught.exceptions)
    print(asyncio.current_task().cancelling(), asyncio.get_running_loop().time())
    await asyncio.sleep(1)
asyncio.run(main())
""",
    "errors of a group come together": """
async def late(error):
    try:
        await asyncio.sleep(100)
    finally:
        raise error
async def main():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(noted("a", 1, ValueError("a")))
            group.create_task(late(KeyError("b")))
            await asyncio.sleep(0)
    except BaseExceptionGroup as caught:
        print(type(caught).__name__, sorted(map(repr, caught.exceptions)))
asyncio.run(main())
""",
    "an error in the body of a group": """
async def main():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(noted("a", 10))
            await asyncio.sleep(1)
            raise KeyError("body")
    except* KeyError as caught:
        print(caught.exceptions)
asyncio.run(main())
""",
    "a group that is cancelled": """
async def grouped():
    async with asyncio.TaskGroup() as group:
        group.create_task(noted("a", 10))
        await asyncio.sleep(5)
async def main():
    for seconds in (1, 7):
        task = asyncio.create_task(grouped())
        await asyncio.sleep(seconds)
        task.cancel("outside")
        try:
            await task
        except asyncio.CancelledError:
            print("cancelled", task.cancelled())
asyncio.run(main())
""",
    "a task of a group may be cancelled alone": """
async def main():
    async with asyncio.TaskGroup() as group:
        first = group.create_task(noted("a", 10))
        group.create_task(noted("b", 2))
        await asyncio.sleep(1)
        first.cancel()
    print("ended", first.cancelled())
asyncio.run(main())
""",
    "groups inside each other": """
async def inner():
    async with asyncio.TaskGroup() as group:
        group.create_task(noted("x", 1, ValueError("x")))
        group.create_task(noted("y", 10))
async def main():
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(inner())
            group.create_task(noted("z", 20))
    except ExceptionGroup as caught:
        print(caught.exceptions[0].exceptions)
asyncio.run(main())
""",
    "a task of a group starts others": """
async def starts(group, n):
    await noted(n, 1)
    if n:
        group.create_task(starts(group, n - 1))
async def main():
    async with asyncio.TaskGroup() as group:
        group.create_task(starts(group, 2))
    print("all")
asyncio.run(main())
""",
    "a group within a timeout": """
async def main():
    try:
        async with asyncio.timeout(2):
            async with asyncio.TaskGroup() as group:
                group.create_task(noted("a", 10))
                group.create_task(noted("b", 1))
    except TimeoutError:
        print("TimeoutError")
asyncio.run(main())
""",
    # -- locks ----------------------------------------------------------------------------------
    "a lock lets in one at a time, in order": """
lock = asyncio.Lock()
async def enters(name):
    async with lock:
        print(name, "in", lock.locked())
        await asyncio.sleep(1)
        print(name, "out")
async def main():
    await asyncio.gather(*(enters(n) for n in "abc"))
    print(lock.locked(), await lock.acquire())
    lock.release()
    try:
        lock.release()
    except RuntimeError:
        print("RuntimeError")
asyncio.run(main())
""",
    "one who waits for a lock is cancelled": """
async def enters(lock, name):
    async with lock:
        print(name, "in")
        await asyncio.sleep(1)
async def main():
    lock = asyncio.Lock()
    tasks = [asyncio.create_task(enters(lock, n)) for n in "abcd"]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.sleep(1)
    tasks[2].cancel()
    print(await asyncio.gather(*tasks, return_exceptions=True))
asyncio.run(main())
""",
    "an event": """
async def waits(event, name):
    print(name, await event.wait())
async def main():
    event = asyncio.Event()
    tasks = [asyncio.create_task(waits(event, n)) for n in "abc"]
    await asyncio.sleep(0)
    tasks[1].cancel()
    print(event.is_set())
    event.set()
    event.set()
    print(event.is_set(), await event.wait())
    await asyncio.wait(tasks)
    event.clear()
    print(event.is_set())
asyncio.run(main())
""",
    "a semaphore lets in some at a time": """
async def enters(semaphore, name):
    async with semaphore:
        print(name, "in", semaphore.locked())
        await asyncio.sleep(1)
    print(name, "out")
async def main():
    semaphore = asyncio.Semaphore(2)
    await asyncio.gather(*(enters(semaphore, n) for n in "abcde"))
    print(semaphore.locked())
    semaphore.release()
    try:
        asyncio.Semaphore(-1)
    except ValueError:
        print("ValueError")
asyncio.run(main())
""",
    "one who waits for a semaphore is cancelled": """
async def enters(semaphore, name):
    async with semaphore:
        print(name, "in")
        await asyncio.sleep(2)
async def main():
    semaphore = asyncio.Semaphore(1)
    tasks = [asyncio.create_task(enters(semaphore, n)) for n in "abc"]
    await asyncio.sleep(1)
    tasks[1].cancel()
    print(await asyncio.gather(*tasks, return_exceptions=True), semaphore.locked())
asyncio.run(main())
""",
    "a bounded semaphore": """
async def main():
    semaphore = asyncio.BoundedSemaphore(1)
    async with semaphore:
        pass
    try:
        semaphore.release()
    except ValueError:
        print("ValueError")
asyncio.run(main())
""",
    "a condition": """
async def waits(condition, name):
    async with condition:
        print(name, await condition.wait(), condition.locked())
async def main():
    condition = asyncio.Condition()
    tasks = [asyncio.create_task(waits(condition, n)) for n in "abcd"]
    await asyncio.sleep(0)
    async with condition:
        condition.notify(2)
        print("notified")
    await asyncio.sleep(1)
    tasks[2].cancel()
    await asyncio.sleep(1)
    async with condition:
        condition.notify_all()
    await asyncio.wait(tasks)
    for wrong in (condition.notify, condition.release):
        try:
            wrong()
        except RuntimeError:
            print("RuntimeError")
asyncio.run(main())
""",
    "a condition with a predicate": """
async def main():
    condition, items = asyncio.Condition(), []
    async def takes():
        async with condition:
            print(await condition.wait_for(lambda: len(items) >= 2), items)
    task = asyncio.create_task(takes())
    for n in range(3):
        await asyncio.sleep(1)
        async with condition:
            items.append(n)
            condition.notify()
    await task
asyncio.run(main())
""",
    "a barrier": """
async def comes(barrier, name, seconds):
    await asyncio.sleep(seconds)
    index = await barrier.wait()
    print(name, index)
async def main():
    barrier = asyncio.Barrier(3)
    await asyncio.gather(*(comes(barrier, n, n) for n in (3, 1, 2, 4, 6, 5)))
    print(barrier.parties, barrier.n_waiting, barrier.broken)
asyncio.run(main())
""",
    "a barrier that breaks": """
async def comes(barrier, name):
    try:
        await barrier.wait()
    except asyncio.BrokenBarrierError:
        print(name, "broken")
async def main():
    barrier = asyncio.Barrier(3)
    for end in (barrier.reset, barrier.abort):
        tasks = [asyncio.create_task(comes(barrier, n)) for n in "ab"]
        await asyncio.sleep(1)
        print(barrier.n_waiting)
        await end()
        await asyncio.wait(tasks)
        print(barrier.broken, barrier.n_waiting)
    await comes(barrier, "late")
asyncio.run(main())
""",
    # -- queues ---------------------------------------------------------------------------------
    "a queue between tasks": """
async def works(name, queue):
    while True:
        item = await queue.get()
        await asyncio.sleep(item)
        print(name, item)
        queue.task_done()
async def main():
    queue = asyncio.Queue()
    workers = [asyncio.create_task(works(n, queue)) for n in "ab"]
    for item in (3, 1, 4, 2):
        queue.put_nowait(item)
    print(queue.qsize(), queue.empty(), queue.full(), queue.maxsize)
    await queue.join()
    print("joined", asyncio.get_running_loop().time())
    for worker in workers:
        worker.cancel()
asyncio.run(main())
""",
    "a queue with a size": """
async def puts(queue):
    for n in range(4):
        await queue.put(n)
        print("put", n, queue.qsize(), queue.full())
async def main():
    queue = asyncio.Queue(maxsize=2)
    task = asyncio.create_task(puts(queue))
    await asyncio.sleep(1)
    try:
        queue.put_nowait(9)
    except asyncio.QueueFull:
        print("QueueFull")
    for _ in range(4):
        print("got", await queue.get())
    try:
        queue.get_nowait()
    except asyncio.QueueEmpty:
        print("QueueEmpty")
    await task
asyncio.run(main())
""",
    "queues in other orders": """
async def main():
    for kind in (asyncio.Queue, asyncio.LifoQueue, asyncio.PriorityQueue):
        queue = kind()
        for item in ((2, "b"), (3, "c"), (1, "a")):
            await queue.put(item)
        print(kind.__name__, [queue.get_nowait()[1] for _ in range(3)])
asyncio.run(main())
""",
    "one who waits for a queue is cancelled": """
async def gets(queue, name):
    try:
        print(name, await queue.get())
    except asyncio.CancelledError:
        print(name, "cancelled")
async def main():
    queue = asyncio.Queue()
    tasks = [asyncio.create_task(gets(queue, n)) for n in "abc"]
    await asyncio.sleep(0)
    tasks[0].cancel()
    queue.put_nowait(1)
    tasks[1].cancel()
    queue.put_nowait(2)
    await asyncio.sleep(1)
    print(queue.qsize())
    tasks[2].cancel()
asyncio.run(main())
""",
    "one who waits to put is cancelled": """
async def puts(queue, name):
    try:
        await queue.put(name)
        print(name, "put")
    except asyncio.CancelledError:
        print(name, "cancelled")
async def main():
    queue = asyncio.Queue(1)
    await queue.put("first")
    tasks = [asyncio.create_task(puts(queue, n)) for n in "abc"]
    await asyncio.sleep(0)
    print(queue.get_nowait())
    tasks[0].cancel()
    await asyncio.sleep(1)
    print(queue.get_nowait())
    await asyncio.sleep(1)
    print(queue.get_nowait(), queue.empty())
asyncio.run(main())
""",
    "task_done too often": """
async def main():
    queue = asyncio.Queue()
    await queue.join()
    queue.put_nowait(1)
    queue.task_done()
    try:
        queue.task_done()
    except ValueError:
        print("ValueError")
asyncio.run(main())
""",
    "get with a timeout": """
async def main():
    queue = asyncio.Queue()
    try:
        await asyncio.wait_for(queue.get(), 1)
    except TimeoutError:
        print("TimeoutError")
    queue.put_nowait("x")
    print(await asyncio.wait_for(queue.get(), 1))
asyncio.run(main())
""",
    "annotations": """
async def works(queue: asyncio.Queue[int], future: asyncio.Future[str], task: asyncio.Task[None]):
    return queue.qsize()
async def main():
    print(await works(asyncio.Queue(), None, None))
asyncio.run(main())
""",
    # -- other things that a loop does ----------------------------------------------------------
    "an asynchronous generator that is left is closed": """
async def numbers():
    try:
        for n in range(5):
            yield n
            await asyncio.sleep(1)
    finally:
        await asyncio.sleep(1)
        print("closed")
async def main():
    async for n in numbers():
        print(n)
        if n == 1:
            break
    print("left")
    await asyncio.sleep(5)
    print("main ends")
asyncio.run(main())
""",
    "an asynchronous generator that is held is closed at the end": """
held = []
async def numbers():
    try:
        yield 1
    finally:
        await asyncio.sleep(1)
        print("closed")
async def main():
    held.append(numbers())
    print(await anext(held[0]))
asyncio.run(main())
print("after")
""",
    "each task has its own decimal context": """
from decimal import Decimal, getcontext, localcontext
async def divides(digits):
    with localcontext() as context:
        context.prec = digits
        await asyncio.sleep(1)
        print(Decimal(1) / Decimal(3))
async def main():
    getcontext().prec = 5
    await asyncio.gather(divides(3), divides(7))
    print(Decimal(1) / Decimal(3))
asyncio.run(main())
""",
    "asynchronous context managers": """
from contextlib import asynccontextmanager
@asynccontextmanager
async def opened(name):
    print("open", name)
    await asyncio.sleep(1)
    try:
        yield name
    finally:
        await asyncio.sleep(1)
        print("close", name)
async def main():
    try:
        async with opened("a"), opened("b"), asyncio.timeout(5):
            await asyncio.sleep(10)
    except TimeoutError:
        print("TimeoutError", asyncio.get_running_loop().time())
asyncio.run(main())
""",
    "exit from a task": """
async def leaves():
    raise SystemExit(3)
async def main():
    asyncio.create_task(leaves())
    try:
        await asyncio.sleep(100)
    finally:
        print("main is cancelled")
asyncio.run(main())
""",
}

SOURCES = {name: f"import asyncio\n{_NOTED}{body}" for name, body in PROGRAMS.items()}
