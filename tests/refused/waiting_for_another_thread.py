# what: a thread that waits for what another does later
# why: there is one thread, and a `Thread` runs to its end when it starts; tasks of `asyncio` can wait
# raises: RuntimeError: `get` would wait forever: a thread runs to its end when it starts here
import queue
queue.Queue().get()
