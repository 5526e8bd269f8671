# `issubclass(type(x), Iterator)` of generators and functions
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator


def numbers():
    yield 1


async def wait(): ...


async def several():
    yield 1


coroutine = wait()
assert issubclass(type(numbers()), Generator)
assert issubclass(type(numbers()), Iterator)
assert issubclass(type(coroutine), Coroutine)
assert issubclass(type(several()), AsyncGenerator)
assert issubclass(type(numbers), Callable)
assert not issubclass(type(numbers), Iterator)
coroutine.close()
