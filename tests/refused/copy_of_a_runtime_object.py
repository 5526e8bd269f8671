# what: copying an object of the runtime (a lock, a task, a stream, a module)
# why: the copy would share or repeat its inner state; a bound method is its own copy
# raises: TypeError: a `Lock` cannot be copied
import asyncio, copy
copy.copy(asyncio.Lock())
