# `contextvars`
import asyncio
from contextvars import ContextVar, copy_context

user = ContextVar("user", default="nobody")


async def work(name):
    token = user.set(name)
    await asyncio.sleep(0)
    seen = user.get()
    user.reset(token)
    return seen, user.get()


async def main():
    return await asyncio.gather(work("ann"), work("bob"))


assert await main() == [("ann", "nobody"), ("bob", "nobody")]
context = copy_context()
context.run(user.set, "carl")
assert (user.get(), context[user]) == ("nobody", "carl")
