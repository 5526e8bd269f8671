"""Values that a program in user space starts with or can make: where walks over them start."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from caps.protocol.messages import ManifestEntry, ManifestMessage
from caps.worker.inside.caps_api.namespace import build_namespace
from caps.worker.inside.channel.channel import Channel

# What a program can create with a line of code and then inspect.
_SAMPLES = """
import asyncio, base64, collections, contextlib, copy, dataclasses, datetime, decimal, enum
import functools, hashlib, heapq, itertools, json, random, re, time, typing, uuid

class Own:
    "a class"
    def __init__(self): self.x = 1
    @property
    def p(self): return 1
    @staticmethod
    def s(): pass
    @classmethod
    def c(cls): pass
    @functools.cached_property
    def cached(self): return 1

class Color(enum.Enum):
    RED = 1

class Bits(enum.IntFlag):
    A = 1

@dataclasses.dataclass
class Data:
    x: int = dataclasses.field(default=1)

class Row(typing.NamedTuple):
    a: int = 1

class Text(str): pass

def caught(f):
    try:
        f()
    except BaseException as error:
        return error

async def coroutine(): pass
async def async_generator(): yield 1
def generator(): yield 1

T = typing.TypeVar("T")
started = coroutine()
made = [
    Own, Own(), Own.p, Own.s, Own.c, Own().s, Own().c, Own.cached, Color, Color.RED, Bits.A, Data,
    Data(), dataclasses.fields(Data), dataclasses.field(), Row, Row(), Text, Text("a"),
    generator, generator(), started, async_generator(), (lambda: 0), super(Own, Own()),
    caught(lambda: 1 / 0), caught(lambda: Own().nothing), caught(lambda: nothing),
    caught(lambda: asyncio.nothing), caught(lambda: {}[1]), caught(lambda: json.loads("{")),
    caught(lambda: b"\\xff".decode()), caught(lambda: getattr(Own(), "__dict__")),
    caught(lambda: Own()._nothing), caught(lambda: "{0.x}".format(1)),
    caught(lambda: re.compile("(")),
    caught(lambda: copy.deepcopy(generator())), caught(lambda: dataclasses.replace(1)),
    caught(lambda: contextlib.ExitStack().enter_context(int)), caught(lambda: Own().x.y),
    caught(lambda: contextlib.ExitStack().enter_context(print)), caught(lambda: Color(5)),
    caught(lambda: dataclasses.asdict(1)), caught(lambda: functools.reduce(print, 1)),
    ExceptionGroup("g", [ValueError()]), CapsError("x", a=1),
    functools.partial(print, 1), functools.lru_cache(print), functools.cache(Own),
    functools.cmp_to_key(print)(1), functools.lru_cache(print).cache_info(),
    re.compile("a"), re.match("(a)", "a"), re.I, re.finditer("a", "a"),
    decimal.getcontext(), decimal.localcontext(), decimal.Decimal(1), random.Random(1),
    typing.List[int], typing.Union[int, str], typing.Union["x"], typing.Optional[int], T,
    typing.NewType("N", int), typing.Callable[[int], int], list[int], type[int], int | str,
    typing.Literal[1], typing.Annotated[int, 1], typing.Generic[T],
    datetime.datetime.now(), datetime.timezone.utc, time.gmtime(), uuid.uuid4(), hashlib.sha256(),
    itertools.count(), itertools.groupby("a"), itertools.tee("a"), heapq.merge([1], [2]),
    iter([]), iter({}), {}.items(), zip(), map(print, []), slice(1), range(2), memoryview(b"a"),
    contextlib.suppress(), contextlib.ExitStack(), contextlib.contextmanager(generator)(),
    collections.ChainMap(), collections.Counter(), collections.defaultdict(), collections.deque(),
    json.JSONEncoder(), enum.auto(), "a".format, str.format, print, getattr, type, object, super,
    asyncio.sleep, asyncio.Future(), asyncio.Lock(), asyncio.Event(), asyncio.Semaphore(),
    asyncio.Condition(), asyncio.Barrier(2), asyncio.Queue(), asyncio.PriorityQueue(),
    asyncio.TaskGroup(), asyncio.timeout(1), asyncio.gather(), asyncio.as_completed([]),
    asyncio.get_event_loop(), asyncio.get_event_loop().call_later(1, print), asyncio.Queue[int],
    property(print), classmethod(print), staticmethod(print),
]
started.close()
"""

# The same for what newer versions have, by the version that added it.
_NEWER = {
    (3, 12): """
type Alias = list[int]
type Late = nothing
def generic[A, *B, **C](x: A): return A, B, C
class Generic[D: int]:
    def bound(self): return D
made += [
    Alias, Late, Alias | int, generic, *generic(1), Generic, Generic[int], Generic().bound(),
    typing.TypeAliasType("Made", list[int]), itertools.batched("ab", 2),
]
""",
    (3, 13): """
class Typed[E = int]:
    def default(self): return E
made += [Typed, Typed().default(), typing.NoDefault, re.PatternError("a"), copy.replace(Data())]
""",
    (3, 14): """
class Later:
    x: nothing
@dataclasses.dataclass
class Forward:
    x: Unknown[1]
template = t"a{made!r:>5}"
made += [
    template, template.interpolations, iter(template), template + template, Later, Forward,
    dataclasses.fields(Forward), functools.Placeholder, uuid.uuid7(),
    functools.partial(print, functools.Placeholder, 1), caught(lambda: Later.__annotations__),
]
""",
}
SAMPLES = "\n".join(
    [_SAMPLES, *(text for since, text in _NEWER.items() if sys.version_info >= since), "made"]
)


@contextmanager
def unconnected_caps() -> Iterator[Any]:
    """`caps` with one capability, on a channel without a host."""
    reading, writing = os.pipe()
    entry = ManifestEntry.of(name="files.read", title="read", description="reads", schema_in={})
    manifest = ManifestMessage(
        id="m1",
        timestamp=1.0,
        execution_id="e1",
        namespace="caps",
        policy_id="p",
        capabilities=[entry],
    )
    try:
        yield build_namespace(manifest, Channel(reading), 4)
    finally:
        os.close(reading)
        os.close(writing)
