"""Facades hold what the table says and nothing that leads further."""

from __future__ import annotations

import importlib
import os
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest

from caps.protocol.messages import ManifestEntry, ManifestMessage
from caps.worker.inside.language.builtins_ import make_builtins
from caps.worker.inside.channel.channel import Channel
from caps.worker.inside.facades.facade import Facade
from caps.worker.inside.facades.allowlist import ENCODINGS, FACADES, INSTEAD
from caps.worker.inside.stdlib.importer import Importer, load_facades
from caps.worker.inside.language.guards import AttributeGuards, OwnClasses
from caps.worker.inside.aio.loop import Loop
from caps.worker.inside.language.identifiers import READABLE
from caps.worker.inside.caps_api.namespace import build_namespace
from caps.worker.inside.language.opaque_types import type_of
from caps.worker.inside.channel.output import Output
from caps.worker.inside.errors.report import message_of
from caps.worker.inside.stdlib.replacements import STAND_INS
from unit.language_programs import make_globals, power_of, run

# What a program can make with a line of code and then look into.
SAMPLES = """
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
made
"""


@pytest.fixture
def caps() -> Iterator[Any]:
    """`caps` with one capability, on a channel that leads nowhere."""
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


def reachable(roots: dict[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
    """Every value that attributes without an underscore lead to, with the way to it.

    The last ones may come again: they are most of them, and are not kept.
    """
    guards = AttributeGuards(OwnClasses())
    seen: dict[int, Any] = {}
    queue = deque((way, value, 0) for way, value in roots.items())
    while queue:
        way, value, steps = queue.popleft()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        yield way, value
        for step in _steps_from(way, value, guards):
            if steps + 1 < depth:
                queue.append((*step, steps + 1))
            elif id(step[1]) not in seen:
                yield step
        if isinstance(value, (list, tuple)):
            queue.extend((f"{way}[{i}]", item, steps) for i, item in enumerate(value[:200]))


def _steps_from(way: str, value: Any, guards: AttributeGuards) -> Iterator[tuple[str, Any]]:
    for name in [*_attribute_names(value), *READABLE]:
        try:
            yield f"{way}.{name}", guards.getattr(value, name)
        except Exception:
            continue
    yield f"type({way})", type_of(value)


def _attribute_names(value: Any) -> list[str]:
    return [name for name in [*object.__dir__(value), *dir(value)] if not name.startswith("_")]


def test_nothing_powerful_can_be_reached_from_user_space(caps: Any) -> None:
    """Three attributes deep from everything that a program starts with or can make."""
    names = make_globals(Loop(lambda _timeout: None), [], {"caps": caps})
    importer = names["__builtins__"]["__import__"]
    modules = {name: importer(name) for name in [*FACADES, *STAND_INS, "asyncio"]}
    held = {**names["__builtins__"], "caps": caps, "made": run(SAMPLES).value, **modules}
    roots = {name: value for name, value in held.items() if name.isidentifier() and name[0] != "_"}
    walked, powers = 0, {}
    for way, value in reachable(roots, 3):
        walked += 1
        if power := power_of(value):
            powers[way] = power
    assert walked > 5_000
    assert powers == {}


@pytest.mark.parametrize("module", FACADES)
def test_every_name_of_the_table_is_there(module: str) -> None:
    """The oldest Python that is supported has every name; a misspelt one fails here."""
    real = importlib.import_module(module)
    names = FACADES[module].split()
    assert [name for name in names if not hasattr(real, name)] == []
    assert dir(load_facades()[module]) == sorted(set(names))
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("module", FACADES)
def test_no_name_of_a_facade_is_a_module(module: str) -> None:
    """A module would hold everything that it imports itself."""
    facade = load_facades()[module]
    assert [name for name in dir(facade) if power_of(getattr(facade, name))] == []


@pytest.mark.parametrize("module", FACADES)
def test_a_facade_cannot_be_changed(module: str) -> None:
    """Neither setting nor deleting works, on the facade and on its class."""
    facade = load_facades()[module]
    name = dir(facade)[0]
    before = getattr(facade, name)
    for target in (facade, type(facade)):
        for changed in (name, "new"):
            with pytest.raises(AttributeError, match="cannot be set on a module"):
                setattr(target, changed, 1)
        with pytest.raises(AttributeError, match="cannot be deleted from a module"):
            delattr(target, name)
    assert getattr(facade, name) is before


def test_a_missing_name_says_whose_it_is() -> None:
    """The message that is shown names the module and the attribute."""
    with pytest.raises(AttributeError) as caught:
        run("import math\nmath.nothing")
    assert message_of(caught.value).startswith("module 'math' has no attribute 'nothing' here")


@pytest.mark.parametrize("module", ["io", "os", "os.path", "pathlib", "urllib"])
def test_what_would_be_a_capability_says_so_at_once(module: str) -> None:
    """Code that asks for files or the network often prints the error that it catches."""
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'nothing' here"):
        run(f"import {module}\n{module}.nothing")


def test_what_user_code_says_of_a_module_is_left_alone() -> None:
    """Only the interpreter's own words are replaced, and nothing of the user's is asked for it."""

    class Odd(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("asked")

        __hash__ = str.__hash__

    math = load_facades()["math"]
    usual = "'math' object has no attribute 'sqr'"
    for error in (
        AttributeError("mine", obj=math, name="sqr"),
        AttributeError(usual, name="sqr"),
        AttributeError(usual, obj=math),
        AttributeError(usual, obj=math, name=Odd("sqr")),
        AttributeError(Odd(usual), obj=math, name="sqr"),
        AttributeError(usual, 2, obj=math, name="sqr"),
        AttributeError(obj=math, name="sqr"),
        KeyError(usual),
    ):
        assert message_of(error) == str(error)
    assert "did you mean `sqrt`" in message_of(AttributeError(usual, obj=math, name="sqr"))


def test_a_refused_import_names_what_there_is() -> None:
    """The message lists the modules that can be imported, and none of the interpreter's own."""
    with pytest.raises(ModuleNotFoundError) as caught:
        run("import numpy")
    message = str(caught.value)
    assert message.startswith("`numpy` cannot be imported here; available: ")
    offered = sorted({*FACADES, *STAND_INS, "asyncio"})
    assert message.partition("available: ")[2].split(", ") == offered
    assert caught.value.name == "numpy"


@pytest.mark.parametrize("module", INSTEAD)
def test_a_refused_import_names_the_capability_that_would_do(module: str) -> None:
    """Who wants files or the network is told what a policy may grant."""
    with pytest.raises(ModuleNotFoundError, match=f"`caps.{INSTEAD[module]}` instead"):
        run(f"import {module}.anything")


def test_each_execution_has_facades_of_its_own_where_classes_matter() -> None:
    """What one execution adopts is nothing to another."""
    first, second = OwnClasses(), OwnClasses()
    made = Importer(first, {})("collections").namedtuple("P", "x")
    assert first.made(made)
    assert not second.made(made)


def test_the_importer_gives_facades_only() -> None:
    """Whatever can be imported is a facade, never a module."""
    importer = Importer(OwnClasses(), {})
    names = [*FACADES, *STAND_INS, "__future__", "_strptime", "_pylong"]
    assert all(isinstance(importer(name), Facade) for name in names)


def test_the_builtins_hold_no_power() -> None:
    """No value of the builtins dictionary that code can name is one."""
    own = OwnClasses()
    held = make_builtins(Output().stdout, Importer(own, {}), own)
    named = {name: value for name, value in held.items() if name.isidentifier()}
    assert {name: power_of(value) for name, value in named.items() if power_of(value)} == {}


@pytest.mark.parametrize("encoding", ENCODINGS.split())
def test_text_can_be_encoded(encoding: str) -> None:
    """Each encoding of the table works in user space."""
    assert run(f"'a'.encode({encoding!r}).decode({encoding!r})").value == "a"
