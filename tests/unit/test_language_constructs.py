"""Ordinary Python works in user space: each construct runs and gives what Python gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from unit.language_programs import run

# name: (source, the value of its last expression)
CONSTRUCTS: dict[str, tuple[str, Any]] = {
    "last expression": ("1\n2 + 3", 5),
    "no expression at the end": ("x = 1", None),
    "top-level await": ("async def f():\n    return 7\nawait f()", 7),
    "async for": (
        """
        async def numbers():
            for n in range(3):
                yield n
        total = 0
        async for n in numbers():
            total += n
        total
        """,
        3,
    ),
    "async comprehension": (
        "async def ns():\n    yield 1\n    yield 2\n[n * 2 async for n in ns()]",
        [2, 4],
    ),
    "async with": (
        """
        class Opened:
            async def __aenter__(self):
                return "in"
            async def __aexit__(self, kind, error, trace):
                return True
        async with Opened() as seen:
            raise ValueError
        seen
        """,
        "in",
    ),
    "async iterator class": (
        """
        class Down:
            def __init__(self, n):
                self.n = n
            def __aiter__(self):
                return self
            async def __anext__(self):
                if not self.n:
                    raise StopAsyncIteration
                self.n -= 1
                return self.n
        [n async for n in Down(3)]
        """,
        [2, 1, 0],
    ),
    "gather": (
        "import asyncio\nasync def f(n):\n    await asyncio.sleep(0)\n    return n\n"
        "await asyncio.gather(f(1), f(2))",
        [1, 2],
    ),
    "asyncio.run": ("import asyncio\nasync def f():\n    return 3\nasyncio.run(f())", 3),
    "match literals": (
        "match 404:\n    case 200: r = 'ok'\n    case 404 | 410: r = 'gone'\nr",
        "gone",
    ),
    "match sequence": (
        "match [1, 2, 3]:\n    case [first, *rest]: r = (first, rest)\nr",
        (1, [2, 3]),
    ),
    "match mapping": (
        "match {'a': 1, 'b': 2}:\n    case {'a': n, **rest}: r = (n, rest)\nr",
        (1, {"b": 2}),
    ),
    "match guard": ("match 5:\n    case n if n > 3: r = 'big'\n    case _: r = 'small'\nr", "big"),
    "match builtin class": ("match 'x':\n    case int(): r = 1\n    case str(s): r = s\nr", "x"),
    "match dataclass by keyword": (
        """
        from dataclasses import dataclass
        @dataclass
        class P:
            x: int
            y: int
        match P(0, 2):
            case P(x=0, y=y): r = y
        r
        """,
        2,
    ),
    "match dataclass by position": (
        """
        from dataclasses import dataclass
        @dataclass
        class P:
            x: int
            y: int
        match P(1, 2):
            case P(1, y): r = y
        r
        """,
        2,
    ),
    "match None and enum value": (
        """
        from enum import Enum
        class C(Enum):
            RED = 1
        match C.RED:
            case None: r = 0
            case C.RED: r = 1
        r
        """,
        1,
    ),
    "nonlocal": (
        """
        def counter():
            n = 0
            def step():
                nonlocal n
                n += 1
                return n
            return step
        step = counter()
        step()
        step()
        """,
        2,
    ),
    "global": ("n = 0\ndef f():\n    global n\n    n += 1\nf()\nf()\nn", 2),
    "annotations": (
        "x: int = 1\ndef f(a: list[int]) -> dict[str, int]: return {'a': a[0]}\nf([x])",
        {"a": 1},
    ),
    "future annotations": (
        "from __future__ import annotations\ndef f(a: Missing) -> Nothing: return a\nf(1)",
        1,
    ),
    "augmented item": ("d = {'k': 1}\nd['k'] += 1\nd['k'] <<= 2\nd", {"k": 8}),
    "augmented attribute": ("class C: n = 1\nc = C()\nc.n += 1\nc.n", 2),
    "slices": ("x = list(range(6))\nx[1:3] = ['a']\ndel x[-1]\nx[::2]", [0, 3]),
    "private attribute": (
        """
        class C:
            def __init__(self):
                self._n = 1
            def up(self):
                self._n += 1
        c = C()
        c.up()
        c._n
        """,
        2,
    ),
    "mangled attribute": (
        """
        class C:
            def __init__(self):
                self.__n = 4
            def get(self):
                return self.__n
        C().get()
        """,
        4,
    ),
    "mangled attribute by its long name": (
        "class C:\n    def __init__(self): self.__n = 4\nC()._C__n",
        4,
    ),
    "private class attribute": ("class C:\n    _kinds = {}\nC._kinds['a'] = 1\nC._kinds", {"a": 1}),
    "private function attribute": ("def f(): pass\nf._calls = 1\nf._calls += 1\nf._calls", 2),
    "super init": (
        """
        class A:
            def __init__(self, n): self.n = n
        class B(A):
            def __init__(self): super().__init__(3)
        B().n
        """,
        3,
    ),
    "base init by name": (
        """
        class A:
            def __init__(self, n): self.n = n
        class B(A):
            def __init__(self): A.__init__(self, 4)
        B().n
        """,
        4,
    ),
    "super of a private method": (
        """
        class A:
            def _n(self): return 1
        class B(A):
            def _n(self): return super()._n() + 1
        B()._n()
        """,
        2,
    ),
    "multiple inheritance": (
        """
        class A:
            def f(self): return ["A"]
        class B(A):
            def f(self): return ["B", *super().f()]
        class C(A):
            def f(self): return ["C", *super().f()]
        class D(B, C): pass
        D().f()
        """,
        ["B", "C", "A"],
    ),
    "property": (
        """
        class C:
            def __init__(self): self._n = 1
            @property
            def n(self): return self._n
            @n.setter
            def n(self, new): self._n = new * 2
        c = C()
        c.n = 5
        c.n
        """,
        10,
    ),
    "class and static methods": (
        """
        class C:
            @classmethod
            def named(cls): return cls.__name__
            @staticmethod
            def two(): return 2
        C.named(), C.two()
        """,
        ("C", 2),
    ),
    "operators": (
        """
        class V:
            def __init__(self, n): self.n = n
            def __add__(self, o): return V(self.n + o.n)
            def __radd__(self, o): return V(self.n + o)
            def __eq__(self, o): return self.n == o.n
            def __hash__(self): return hash(self.n)
            def __lt__(self, o): return self.n < o.n
            def __repr__(self): return f"V({self.n})"
            def __len__(self): return self.n
            def __getitem__(self, i): return i
            def __contains__(self, x): return True
            def __call__(self): return "called"
            def __bool__(self): return True
            def __iter__(self): return iter([self.n])
        v = V(1) + V(2)
        repr(sum([v], 0)), len(v), v[9], 5 in v, v(), list(v), sorted([V(2), V(1)])[0] == V(1)
        """,
        ("V(3)", 3, 9, True, "called", [3], True),
    ),
    "dict subclass": (
        "class D(dict):\n    def __missing__(self, k): return k * 2\nD()['a']",
        "aa",
    ),
    "exception subclass": (
        """
        class Wrong(ValueError):
            def __init__(self, place):
                super().__init__(f"wrong at {place}")
                self.place = place
                self._seen = 1
        try:
            raise Wrong(3)
        except Wrong as e:
            r = (str(e), e.place, e._seen, e.args)
        r
        """,
        ("wrong at 3", 3, 1, ("wrong at 3",)),
    ),
    "slots": (
        "class C:\n    __slots__ = ('a', '_b')\nc = C()\nc.a, c._b = 1, 2\n(c.a, c._b)",
        (1, 2),
    ),
    "dataclass": (
        """
        from dataclasses import dataclass, field, asdict, astuple, replace, fields
        @dataclass(order=True)
        class P:
            x: int
            y: int = 2
            tags: list = field(default_factory=list, repr=False)
            _hidden: int = 0
            def __post_init__(self):
                self.x += 1
        p = P(1)
        (
            repr(p),
            asdict(p),
            astuple(replace(p, y=5)),
            p < P(9),
            [f.name for f in fields(P)],
            p._hidden,
        )
        """,
        (
            "P(x=2, y=2, _hidden=0)",
            {"x": 2, "y": 2, "tags": [], "_hidden": 0},
            (3, 5, [], 0),
            True,
            ["x", "y", "tags", "_hidden"],
            0,
        ),
    ),
    "frozen dataclass with slots": (
        """
        from dataclasses import dataclass, FrozenInstanceError
        @dataclass(frozen=True, slots=True)
        class P:
            x: int
            _y: int = 3
        p = P(1)
        try:
            p.x = 2
        except FrozenInstanceError as e:
            r = str(e)
        (p.x, p._y, hash(p) == hash(P(1)), r)
        """,
        (1, 3, True, "cannot assign to field 'x'"),
    ),
    "dataclass inheritance": (
        """
        from dataclasses import dataclass, field, KW_ONLY
        @dataclass
        class A:
            x: int = 1
        @dataclass
        class B(A):
            _: KW_ONLY
            y: list = field(default_factory=lambda: [1], metadata={"unit": "m"})
        B(3, y=[2])
        (B(3).y, B.x)
        """,
        ([1], 1),
    ),
    "enum": (
        """
        from enum import Enum, IntEnum, StrEnum, Flag, auto, unique
        @unique
        class Color(Enum):
            RED = auto()
            BLUE = auto()
            @property
            def lower(self):
                return self.name.lower()
        class Level(IntEnum):
            LOW = 1
        class Word(StrEnum):
            ONE = auto()
        class Perm(Flag):
            R = auto()
            W = auto()
        (
            Color.RED.lower,
            Color(2).name,
            Color["BLUE"].value,
            [c.name for c in Color],
            Level.LOW + 1,
            f"{Level.LOW}",
            str(Word.ONE),
            Word.ONE == "one",
            (Perm.R | Perm.W).value,
            Perm.R in Perm.R | Perm.W,
            Color.RED._value_,
            2 in Color._value2member_map_,
            isinstance(Color.RED, Enum),
            repr(Color.RED),
        )
        """,
        (
            "red",
            "BLUE",
            2,
            ["RED", "BLUE"],
            2,
            "1",
            "one",
            True,
            3,
            True,
            1,
            True,
            True,
            "<Color.RED: 1>",
        ),
    ),
    "members of an enum": (
        "from enum import Enum\nclass C(Enum):\n    A = 1\n[*C.__members__]",
        ["A"],
    ),
    "abstract classes": (
        """
        from abc import ABC, abstractmethod
        class Shape(ABC):
            @abstractmethod
            def area(self): ...
        class Square(Shape):
            def area(self): return 4
        try:
            Shape()
        except TypeError as e:
            r = "abstract" in str(e)
        (r, Square().area(), isinstance(Square(), Shape))
        """,
        (True, 4, True),
    ),
    "protocols": (
        """
        from typing import Protocol, runtime_checkable
        @runtime_checkable
        class Named(Protocol):
            name: str
        class Cat:
            name = "Mia"
        (isinstance(Cat(), Named), isinstance(1, Named))
        """,
        (True, False),
    ),
    "context managers from generators": (
        """
        from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
        seen = []
        @contextmanager
        def opened(name):
            seen.append(name)
            try:
                yield name * 2
            finally:
                seen.append("closed")
        @asynccontextmanager
        async def waited():
            yield 1
        with suppress(ZeroDivisionError), opened("a") as twice:
            seen.append(twice)
            1 / 0
        with ExitStack() as stack:
            stack.callback(seen.append, "last")
        async with waited() as one:
            seen.append(one)
        seen
        """,
        ["a", "aa", "closed", "last", 1],
    ),
    "json encoder": (
        """
        import json
        class Encoder(json.JSONEncoder):
            def default(self, value): return sorted(value)
        json.dumps({"s": {2, 1}}, cls=Encoder)
        """,
        '{"s": [1, 2]}',
    ),
    "enum hooks": (
        """
        from enum import Enum, auto
        class C(Enum):
            def _generate_next_value_(name, start, count, last_values): return name.lower()
            @classmethod
            def _missing_(cls, value): return cls.A
            A = auto()
        C("nothing").value
        """,
        "a",
    ),
    "namedtuple": (
        """
        from collections import namedtuple
        P = namedtuple("P", "x y", defaults=[2])
        p = P(1)
        (p._replace(x=5), p._asdict(), P._fields, P._make([7, 8]).y)
        """,
        ((5, 2), {"x": 1, "y": 2}, ("x", "y"), 8),
    ),
    "typing.NamedTuple": (
        """
        from typing import NamedTuple
        class P(NamedTuple):
            x: int
            y: int = 2
            def total(self): return self.x + self.y
        match P(1)._replace(y=4):
            case P(x, y): r = (x, y)
        (r, P(1).total(), P(1)._asdict())
        """,
        ((1, 4), 3, {"x": 1, "y": 2}),
    ),
    "typing": (
        """
        from typing import Any, Generic, Optional, TypedDict, TypeVar, Union, cast
        T = TypeVar("T")
        class Box(Generic[T]):
            def __init__(self, item: T) -> None: self._item = item
            def get(self) -> Optional[T]: return self._item
        class Row(TypedDict, total=False):
            name: str
        def f(x: Union[int, str, None] = None) -> Any: return x
        (Box[int](3).get(), Row(name="a"), cast(int, f("b")))
        """,
        (3, {"name": "a"}, "b"),
    ),
    "generators": (
        """
        def inner():
            got = yield 1
            yield got
            return "end"
        def outer():
            result = yield from inner()
            yield result
        g = outer()
        [next(g), g.send("sent"), next(g), list(n * n for n in range(3))]
        """,
        [1, "sent", "end", [0, 1, 4]],
    ),
    "generator throw and close": (
        """
        def g():
            try:
                yield 1
            except ValueError:
                yield "caught"
        one = g()
        next(one)
        r = one.throw(ValueError("x"))
        one.close()
        r
        """,
        "caught",
    ),
    "decorators": (
        """
        import functools
        def twice(n):
            def mark(f):
                @functools.wraps(f)
                def inner(*args, **kwargs):
                    return n * f(*args, **kwargs)
                return inner
            return mark
        @twice(3)
        def one(a, *, b=1):
            "says one"
            return a + b
        (one(1), one.__name__, one.__doc__)
        """,
        (6, "one", "says one"),
    ),
    "with": (
        """
        class C:
            def __enter__(self): return (1, 2)
            def __exit__(self, kind, error, trace): return kind is ValueError
        with C() as (a, b), C():
            raise ValueError
        a + b
        """,
        3,
    ),
    "try": (
        """
        order = []
        for n in (0, 1):
            try:
                1 / n
            except ZeroDivisionError as e:
                order.append(str(e))
            else:
                order.append("else")
            finally:
                order.append("finally")
        order
        """,
        ["division by zero", "finally", "else", "finally"],
    ),
    "except*": (
        """
        seen = []
        try:
            try:
                raise ExceptionGroup("many", [ValueError(1), TypeError(2), KeyError(3)])
            except* ValueError as g:
                seen.append([repr(e) for e in g.exceptions])
            except* (TypeError, OSError) as g:
                seen.append(len(g.exceptions))
        except ExceptionGroup as left:
            seen.append(repr(left.exceptions[0]))
        try:
            raise ValueError("alone")
        except* ValueError as g:
            seen.append(str(g.exceptions[0]))
        seen
        """,
        [["ValueError(1)"], 1, "KeyError(3)", "alone"],
    ),
    "causes and notes": (
        """
        try:
            try:
                1 / 0
            except ZeroDivisionError as e:
                raise ValueError("outer") from e
        except ValueError as e:
            e.add_note("a note")
            r = (e.__cause__.__class__.__name__, e.__context__ is e.__cause__, e.__notes__)
        r
        """,
        ("ZeroDivisionError", True, ["a note"]),
    ),
    "assert and raise": (
        "try:\n    assert 1 > 2, 'no'\nexcept AssertionError as e:\n    r = str(e)\nr",
        "no",
    ),
    "walrus": ("[y for x in range(4) if (y := x * x) > 1]", [4, 9]),
    "star unpacking": (
        """
        a, *b, (c, d) = [1, 2, 3, (4, 5)]
        [*b, a, c], {**{"d": d}}, (lambda *x, **k: (x, k))(*b, **{"z": 1})
        """,
        ([2, 3, 1, 4], {"d": 5}, ((2, 3), {"z": 1})),
    ),
    "parameter kinds": (
        "def f(a, /, b=2, *c, d, e=5, **k): return (a, b, c, d, e, k)\nf(1, 2, 3, d=4, a=6)",
        (1, 2, (3,), 4, 5, {"a": 6}),
    ),
    "lambda defaults": ("fs = [lambda x=i: x * 2 for i in range(3)]\n[f() for f in fs]", [0, 2, 4]),
    "comprehensions": (
        """
        (
            {k: v for k, v in zip("ab", (1, 2))},
            {n % 2 for n in range(5)},
            [a + b for a in "xy" for b in "z"],
        )
        """,
        ({"a": 1, "b": 2}, {0, 1}, ["xz", "yz"]),
    ),
    "loops": (
        """
        r = []
        for n in range(5):
            if n == 1: continue
            if n == 3: break
            r.append(n)
        else:
            r.append("never")
        while r and len(r) < 4:
            r.append(0)
        else:
            r.append("else")
        r
        """,
        [0, 2, 0, 0, "else"],
    ),
    "conditional expressions and chained comparison": ("'y' if 1 < 2 <= 2 != 3 else 'n'", "y"),
    "f-strings": (
        "import math\nw = 8\nf'{math.pi:{w}.2f}|{\"a\"!r:>5}|{1 + 1 = }|{{}}|{1000000:,}'",
        "    3.14|  'a'|1 + 1 = 2|{}|1,000,000",
    ),
    "str.format": (
        """
        "{0}-{1[k]}-{name:>4}-{2[0]!r}-{:}".replace("{:}", "").format(
            1, {"k": 2}, ["x"], name="n"
        )
        """,
        "1-2-   n-'x'-",
    ),
    "str.format automatic": ("'{} {:>{w}} {:.1f}'.format('a', 'b', 1.25, w=3)", "a   b 1.2"),
    "str.format unbound and format_map": (
        "list(map('{:02d}'.format, [1, 2])) + [str.format('{}!', 1), '{a}'.format_map({'a': 2})]",
        ["01", "02", "1!", "2"],
    ),
    "a format method of one's own": (
        "class Report:\n    def format(self, n): return n + 1\nReport().format(1)",
        2,
    ),
    "percent formatting": ("'%s %(a)s'[:2] % 1, '%(a)05.1f' % {'a': 2}", ("1", "002.0")),
    "type names": (
        """
        class C:
            pass
        type(C()).__name__, type(1) is int, C.__name__, C().__class__.__name__, C().__class__ is C
        """,
        ("C", True, "C", "C", True),
    ),
    "isinstance of type": (
        """
        class C:
            pass
        (
            isinstance(C, type),
            isinstance(1, type),
            type(C) is type,
            type(type) is type,
            type(int) is type,
        )
        """,
        (True, False, True, True, True),
    ),
    "type of functions and modules": (
        """
        import math
        def f():
            pass
        (
            type(f).__name__,
            isinstance(f, type(f)),
            type(math).__name__,
            isinstance(math, type(math)),
        )
        """,
        ("function", True, "module", True),
    ),
    "type annotation of type": (
        "def f(kind: type[int]) -> type[str]: return kind\nf(int) is int",
        True,
    ),
    "main guard": ("r = 0\nif __name__ == '__main__':\n    r = 1\nr", 1),
    "attribute functions": (
        """
        class C:
            pass
        c = C()
        setattr(c, "a", 1)
        setattr(c, "_b", 2)
        r = (
            getattr(c, "a"),
            getattr(c, "_b"),
            getattr(c, "z", "none"),
            hasattr(c, "a"),
            hasattr(c, "z"),
            vars(c),
            [n for n in dir(c)],
        )
        delattr(c, "a")
        (*r, hasattr(c, "a"), getattr([], "append") is not None, getattr("{}", "format")(3))
        """,
        (1, 2, "none", True, False, {"a": 1, "_b": 2}, ["a"], False, True, "3"),
    ),
    "sorted, min, max, zip, map": (
        """
        (
            sorted("bca", key=lambda c: -ord(c)),
            min([3, 1], key=abs),
            [*map(str, [1])],
            dict(zip("a", [1])),
            any([0, 1]),
        )
        """,
        (["c", "b", "a"], 1, ["1"], {"a": 1}, True),
    ),
    "lru_cache": (
        """
        from functools import cache, cached_property, lru_cache, partial, reduce, total_ordering
        @lru_cache(maxsize=None)
        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)
        calls = []
        class C:
            @cached_property
            def slow(self):
                "says slow"
                calls.append(1)
                return 5
            @cache
            def f(self):
                return 6
        @total_ordering
        class N:
            def __init__(self, n):
                self.n = n
            def __eq__(self, o):
                return self.n == o.n
            def __lt__(self, o):
                return self.n < o.n
        c = C()
        (
            fib(50),
            fib.cache_info().hits > 0,
            fib.cache_info()._asdict()["misses"],
            c.slow + c.slow,
            len(calls),
            C.slow.__doc__,
            c.f(),
            partial(pow, 2)(5),
            reduce(lambda a, b: a * b, [2, 3]),
            N(2) >= N(1),
        )
        """,
        (12586269025, True, 51, 10, 1, "says slow", 6, 32, 6, True),
    ),
    "json": (
        """
        import json
        json.loads(json.dumps({"a": [1, None, "ä"]}, indent=1, sort_keys=True, default=str))
        """,
        {"a": [1, None, "ä"]},
    ),
    "json errors": (
        """
        import json
        try:
            json.loads("{")
        except json.JSONDecodeError as e:
            r = e.pos
        r
        """,
        1,
    ),
    "re": (
        """
        import re
        m = re.match(r"(?P<y>\\d+)-(\\w)", "12-ab")
        (m.group("y"), m.groups(), re.sub("a", lambda m: m[0] * 2, "ba", flags=re.I))
        """,
        ("12", ("12", "a"), "baa"),
    ),
    "datetime": (
        """
        from datetime import datetime, timedelta, timezone, date, UTC
        d = datetime.strptime("2024-02-28 10:00", "%Y-%m-%d %H:%M").replace(
            tzinfo=UTC
        ) + timedelta(days=1)
        (
            d.isoformat(),
            d.strftime("%A"),
            date(2024, 1, 1).weekday(),
            f"{d:%d.%m.}",
            (d - d).total_seconds(),
        )
        """,
        ("2024-02-29T10:00:00+00:00", "Thursday", 0, "29.02.", 0.0),
    ),
    "collections": (
        """
        from collections import ChainMap, Counter, OrderedDict, defaultdict, deque
        d = defaultdict(list)
        d["a"].append(1)
        q = deque([1, 2], maxlen=2)
        q.append(3)
        (
            Counter("aab").most_common(1),
            d["a"],
            list(q),
            ChainMap({"a": 1}, {"b": 2})["b"],
            [*OrderedDict(a=1)],
        )
        """,
        ([("a", 2)], [1], [2, 3], 2, ["a"]),
    ),
    "itertools, operator, heapq, bisect": (
        """
        import bisect, heapq, itertools, operator
        (
            list(itertools.chain([1], [2])),
            [(k, len(list(g))) for k, g in itertools.groupby("aab")],
            list(itertools.accumulate([1, 2, 3], operator.mul)),
            heapq.nlargest(1, [1, 3, 2]),
            bisect.bisect([1, 3], 2),
            sorted([{"n": 2}, {"n": 1}], key=operator.itemgetter("n"))[0],
        )
        """,
        ([1, 2], [("a", 2), ("b", 1)], [1, 2, 6], [3], 1, {"n": 1}),
    ),
    "numbers": (
        """
        import math, statistics, random
        from decimal import Decimal, ROUND_HALF_UP, localcontext
        from fractions import Fraction
        random.seed(1)
        one = random.Random(1)
        with localcontext() as context:
            context.prec = 3
            third = str(Decimal(1) / 3)
        (
            math.isclose(math.sqrt(2) ** 2, 2),
            statistics.mean([1, 2, 3]),
            str(Decimal("2.345").quantize(Decimal("0.01"), ROUND_HALF_UP)),
            third,
            str(Fraction(3, 6)),
            one.random() == random.random(),
            len(str(2**4000)),
        )
        """,
        (True, 2, "2.35", "0.333", "1/2", True, 1205),
    ),
    "text and bytes": (
        """
        import base64, hashlib, string, textwrap, uuid
        (
            base64.b64encode(b"a").decode(),
            hashlib.sha256(b"").hexdigest()[:6],
            string.ascii_lowercase[:3],
            textwrap.dedent("  a"),
            textwrap.shorten("hello big world", 11),
            str(uuid.uuid5(uuid.NAMESPACE_DNS, "a.b"))[:8],
            "ä".encode("latin-1"),
            b"\\xe4".decode("cp1252"),
            "a".encode("utf-16-le"),
            "\\N{BULLET}",
            "a".encode("idna"),
        )
        """,
        (
            "YQ==",
            "e3b0c4",
            "abc",
            "a",
            "hello [...]",
            "0e7af403",
            b"\xe4",
            "ä",
            b"a\x00",
            "•",
            b"a",
        ),
    ),
    "copy": (
        """
        import copy
        class C:
            pass
        c = C()
        c.items = [1]
        d = copy.deepcopy(c)
        d.items.append(2)
        (c.items, copy.copy([1]))
        """,
        ([1], [1]),
    ),
    "memoryview and bytearray": (
        "m = memoryview(bytearray(b'abc'))\nm[0] = 65\nbytes(m), m.format",
        (b"Abc", "B"),
    ),
    "del": ("x = {'a': 1, 'b': 2}\ndel x['a']\ny = 1\ndel y\nx", {"b": 2}),
    "unicode identifiers": ("größe = 1\n\uff58 = 2\ngröße + x", 3),
    "underscore names": ("_, _x = 1, 2\nfor _ in range(2): pass\n_ + _x", 3),
    "complex and big expressions": (
        "(1 + 2j).real, -7 // 2, 7 % -3, 2 ** -1, ~5 & 0xF, 1 << 3 | 1",
        (1.0, -4, -2, 0.5, 10, 9),
    ),
    "recursion": ("def f(n): return 1 if n < 2 else n * f(n - 1)\nf(20)", 2432902008176640000),
    "closures over loops": (
        "def make():\n    x = [1]\n    return lambda: x\nmake()() is not make()()",
        True,
    ),
    "nested classes": (
        """
        class A:
            class B:
                def f(self):
                    return self.__class__.__qualname__
        A.B().f()
        """,
        "A.B",
    ),
    "class keyword arguments": (
        "from typing import TypedDict\nclass R(TypedDict, total=True):\n    a: int\nR(a=1)",
        {"a": 1},
    ),
    "caps errors can be caught": (
        """
        try:
            raise PolicyDeniedError("no", capability="files.read")
        except CapsError as e:
            r = (e.capability, e.code)
        r
        """,
        ("files.read", "policy_denied"),
    ),
}


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_an_ordinary_construct_gives_what_python_gives(name: str) -> None:
    """The value of the last expression is that of plain Python."""
    source, expected = CONSTRUCTS[name]
    assert run(dedent(source)).value == expected


def test_print_is_captured_with_its_separators() -> None:
    """`print` honours `sep` and `end` and writes plain text."""
    ran = run("print(1, 'a', None, sep='-', end='!')\nprint()\nprint('x', flush=True)")
    assert ran.printed == "1-a-None!\nx\n"


def test_print_takes_a_file_of_the_codes_own() -> None:
    """Anything with a `write` will do; what has none is an error."""
    ran = run("import io\nb = io.StringIO()\nprint(1, 2, file=b, flush=True)\nb.getvalue()")
    assert (ran.value, ran.printed) == ("1 2\n", "")
    with pytest.raises(AttributeError, match="'list' object has no attribute 'write'"):
        run("print(1, file=[])")


@pytest.mark.parametrize(
    "source",
    [
        "print('a', 'b', sep=S('-'), end=S('.'))",
        "class C:\n    def __str__(self): return S('a-b')\nprint(C(), end=S('.'))",
    ],
)
def test_print_writes_plain_text_whatever_the_strings_do(source: str) -> None:
    """A subclass of str in any place cannot put something else into the output."""
    subclass = dedent(
        """
        class S(str):
            def join(self, parts): return 1
            def __radd__(self, other): return 2
            def __add__(self, other): return 3
        """
    )
    assert run(subclass + source).printed == "a-b."


def test_constructs_work_when_nothing_more_can_be_imported() -> None:
    """A worker gives up the import system before it runs code; no construct leans on it."""
    script = f"""
import sys
from textwrap import dedent
sys.path[:0] = {[str(Path(__file__).parents[1])]!r}
from unit.language_programs import run
from caps.worker.inside.facades import load_facades
load_facades()
sys.path.clear(), sys.meta_path.clear(), sys.path_hooks.clear(), sys.path_importer_cache.clear()
for name, source in {[(name, source) for name, (source, _) in CONSTRUCTS.items()]!r}:
    try:
        run(dedent(source))
    except BaseException as error:
        print(name, type(error).__name__, error)
"""
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True
    )
    assert ran.stdout == ""
