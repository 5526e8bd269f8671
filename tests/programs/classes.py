# %% dataclass with ordering, post-init and a computed property
from dataclasses import dataclass, field, asdict, astuple, replace, fields
from typing import ClassVar


@dataclass(order=True)
class Product:
    sort_index: float = field(init=False, repr=False)
    name: str
    price: float
    tags: list[str] = field(default_factory=list)
    count: ClassVar[int] = 0

    def __post_init__(self):
        if self.price < 0:
            raise ValueError(f"negative price: {self.price}")
        self.sort_index = self.price
        Product.count += 1

    @property
    def label(self) -> str:
        return f"{self.name} (${self.price:.2f})"


items = [Product("b", 3.5), Product("a", 1.25, ["x"]), Product("c", 2)]
for p in sorted(items):
    print(p, p.label)
print(asdict(items[0]), astuple(items[1]))
print(replace(items[0], name="z"), Product.count)
print([f.name for f in fields(Product)])
try:
    Product("bad", -1)
except ValueError as e:
    print("error:", e)
# %% frozen dataclass as a key, slots and kw_only
from dataclasses import dataclass, FrozenInstanceError


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 0


@dataclass(kw_only=True)
class Options:
    verbose: bool = False
    level: int = 1


d = {Point(1, 2): "a", Point(3): "b"}
print(d[Point(1, 2)], d[Point(3, 0)], Options(level=3))
try:
    Point(1, 2).x = 5
except FrozenInstanceError as e:
    print(type(e).__name__, e)
try:
    Options(True)
except TypeError as e:
    print(e)
print(Point.__slots__, hash(Point(1, 2)) == hash(Point(1, 2)))
# %% abstract base class that cannot be instantiated
from abc import ABC, abstractmethod
import math


class Shape(ABC):
    @abstractmethod
    def area(self) -> float: ...
    @property
    @abstractmethod
    def name(self) -> str: ...
    def describe(self):
        return f"{self.name}: {self.area():.2f}"


class Circle(Shape):
    def __init__(self, r):
        self.r = r

    def area(self):
        return math.pi * self.r**2

    @property
    def name(self):
        return "circle"


class Square(Shape):
    def __init__(self, s):
        self.s = s

    def area(self):
        return self.s**2

    name = "square"


for s in [Circle(1), Square(2)]:
    print(s.describe())
try:
    Shape()
except TypeError as e:
    print("TypeError")
print(sorted(Shape.__abstractmethods__))
print(Circle.__abstractmethods__)


# %% a plug-in registry by __init_subclass__
class Plugin:
    registry: dict[str, type] = {}

    def __init_subclass__(cls, /, name=None, **kwargs):
        super().__init_subclass__(**kwargs)
        cls.registry[name or cls.__name__.lower()] = cls


class Json(Plugin):
    def run(self):
        return "json"


class Csv(Plugin, name="comma"):
    def run(self):
        return "csv"


for k, v in Plugin.registry.items():
    print(k, v.__name__, v().run())


# %% a validating descriptor
class Positive:
    def __set_name__(self, owner, name):
        self.name = name
        self.private = "_" + name

    def __get__(self, obj, objtype=None):
        if obj is None:
            return self
        return getattr(obj, self.private, None)

    def __set__(self, obj, value):
        if value <= 0:
            raise ValueError(f"{self.name} must be positive, got {value}")
        setattr(obj, self.private, value)


class Account:
    balance = Positive()
    rate = Positive()

    def __init__(self, balance, rate):
        self.balance, self.rate = balance, rate


a = Account(10, 2)
print(a.balance, a.rate, a.__dict__)
try:
    a.balance = -5
except ValueError as e:
    print(e)


# %% typed descriptor with instance dict
class Typed:
    def __init__(self, kind):
        self.kind = kind

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner):
        if instance is None:
            return self
        return instance.__dict__.get(self.name)

    def __set__(self, instance, value):
        if not isinstance(value, self.kind):
            raise TypeError(f"{self.name} expects {self.kind.__name__}, got {type(value).__name__}")
        instance.__dict__[self.name] = value


class Person:
    name = Typed(str)
    age = Typed(int)

    def __init__(self, name, age):
        self.name = name
        self.age = age


p = Person("Ann", 3)
print(p.name, p.age, vars(p))
try:
    Person("x", "y")
except TypeError as e:
    print(e)


# %% singleton by __new__
class Config:
    _instance = None

    def __new__(cls, *args, **kwargs):
        if cls._instance is None:
            cls._instance = super().__new__(cls)
            cls._instance.values = {}
        return cls._instance


a, b = Config(), Config()
a.values["k"] = 1
print(a is b, b.values)
# %% operator overloading: a vector
from __future__ import annotations
import math


class Vector:
    __slots__ = ("x", "y")

    def __init__(self, x: float, y: float) -> None:
        self.x, self.y = x, y

    def __repr__(self):
        return f"{self.__class__.__name__}({self.x!r}, {self.y!r})"

    def __add__(self, o: Vector) -> Vector:
        return Vector(self.x + o.x, self.y + o.y)

    def __sub__(self, o):
        return Vector(self.x - o.x, self.y - o.y)

    def __mul__(self, k):
        return Vector(self.x * k, self.y * k) if isinstance(k, (int, float)) else NotImplemented

    __rmul__ = __mul__

    def __neg__(self):
        return self * -1

    def __abs__(self):
        return math.hypot(self.x, self.y)

    def __eq__(self, o):
        return isinstance(o, Vector) and (self.x, self.y) == (o.x, o.y)

    def __hash__(self):
        return hash((self.x, self.y))

    def __bool__(self):
        return bool(abs(self))

    def __iter__(self):
        yield self.x
        yield self.y

    def __matmul__(self, o):
        return self.x * o.x + self.y * o.y

    def __format__(self, spec):
        return f"<{format(self.x, spec)}, {format(self.y, spec)}>"


v, w = Vector(3, 4), Vector(1, 2)
print(v + w, v - w, 2 * v, -v, abs(v), v == Vector(3, 4), bool(Vector(0, 0)), list(v), v @ w)
print(f"{v:.1f}", format(w, "d"), {v: 1}[Vector(3, 4)])
try:
    v * "a"
except TypeError as e:
    print(e)


# %% a matrix class with indexing and slices
class Matrix:
    def __init__(self, rows):
        self.rows = [list(r) for r in rows]

    @classmethod
    def identity(cls, n):
        return cls([[int(i == j) for j in range(n)] for i in range(n)])

    @property
    def shape(self):
        return len(self.rows), len(self.rows[0])

    def __getitem__(self, key):
        if isinstance(key, tuple):
            i, j = key
            if isinstance(i, slice):
                return [r[j] for r in self.rows[i]]
            return self.rows[i][j]
        return self.rows[key]

    def __setitem__(self, key, value):
        i, j = key
        self.rows[i][j] = value

    def __len__(self):
        return len(self.rows)

    def __contains__(self, x):
        return any(x in r for r in self.rows)

    def __matmul__(self, o):
        return Matrix([[sum(a * b for a, b in zip(r, c)) for c in zip(*o.rows)] for r in self.rows])

    def __str__(self):
        return "\n".join(" ".join(f"{v:3}" for v in r) for r in self.rows)


m = Matrix([[1, 2], [3, 4]])
m[0, 1] = 9
print(m @ Matrix.identity(2))
print(m[:, 0], m[1], m[1, 1], m.shape, len(m), 9 in m)
for row in m:
    print(row)


# %% context manager class that suppresses and times
class Transaction:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("begin")
        return self

    def __exit__(self, exc_type, exc, tb):
        if exc_type is None:
            self.log.append("commit")
        else:
            self.log.append(f"rollback {exc_type.__name__}: {exc}")
        return exc_type is ValueError


log = []
with Transaction(log):
    log.append("work")
with Transaction(log):
    raise ValueError("bad")
try:
    with Transaction(log):
        raise KeyError("k")
except KeyError as e:
    log.append(repr(e))
print("\n".join(log))
# %% Protocol with runtime_checkable
from typing import Protocol, runtime_checkable


@runtime_checkable
class Drawable(Protocol):
    def draw(self) -> str: ...


class Box:
    def draw(self):
        return "[]"


class Nope:
    pass


def render(items: list[Drawable]) -> str:
    return " ".join(i.draw() for i in items)


print(isinstance(Box(), Drawable), isinstance(Nope(), Drawable), render([Box(), Box()]))
print(issubclass(Box, Drawable))
# %% generics with TypeVar
from typing import Generic, TypeVar, Iterator, Optional

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class Stack(Generic[T]):
    def __init__(self) -> None:
        self._items: list[T] = []

    def push(self, item: T) -> None:
        self._items.append(item)

    def pop(self) -> T:
        if not self._items:
            raise IndexError("pop from empty stack")
        return self._items.pop()

    def peek(self) -> Optional[T]:
        return self._items[-1] if self._items else None

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(reversed(self._items))


class LRU(Generic[K, V]):
    def __init__(self, n):
        self.n, self.d = n, {}

    def get(self, k):
        if k not in self.d:
            return None
        self.d[k] = self.d.pop(k)
        return self.d[k]

    def put(self, k, v):
        self.d.pop(k, None)
        self.d[k] = v
        if len(self.d) > self.n:
            self.d.pop(next(iter(self.d)))


s: Stack[int] = Stack[int]()
for i in range(3):
    s.push(i)
print(list(s), s.pop(), s.peek(), len(s), Stack[int], LRU[str, int])
c = LRU[str, int](2)
c.put("a", 1)
c.put("b", 2)
c.get("a")
c.put("c", 3)
print(c.d)
print(Stack.__orig_bases__, Stack[int].__args__)
# %% enums: auto, flags, methods, lookup
from enum import Enum, IntEnum, Flag, StrEnum, auto, unique


@unique
class Color(Enum):
    RED = 1
    GREEN = 2
    BLUE = 3

    @classmethod
    def default(cls):
        return cls.RED

    @property
    def hex(self):
        return {1: "#f00", 2: "#0f0", 3: "#00f"}[self.value]


class Perm(Flag):
    R = auto()
    W = auto()
    X = auto()
    RW = R | W


class Level(IntEnum):
    LOW = 1
    HIGH = 10


class Kind(StrEnum):
    A = auto()
    B = auto()


print(list(Color), Color(2), Color["BLUE"].hex, Color.default(), repr(Color.RED))
print(Perm.R | Perm.X, Perm.R in Perm.RW, Perm.RW, ~Perm.R, Perm(0))
print(Level.HIGH > Level.LOW, Level.LOW + 1, sorted(Level, reverse=True), f"{Level.HIGH}")
print(Kind.A, Kind("b"), [k.upper() for k in Kind], Color.__members__)
try:
    Color(9)
except ValueError as e:
    print(e)
try:
    Color["PINK"]
except KeyError as e:
    print(e)
print(len(Color), Color.RED.name, Color.RED is Color(1), isinstance(Color.RED, Color))
# %% enum with values that are tuples, and a state machine
from enum import Enum


class Planet(Enum):
    EARTH = (5.97e24, 6.37e6)
    MARS = (6.42e23, 3.39e6)

    def __init__(self, mass, radius):
        self.mass, self.radius = mass, radius

    @property
    def gravity(self):
        return 6.67e-11 * self.mass / self.radius**2


class State(Enum):
    IDLE = "idle"
    RUNNING = "running"
    DONE = "done"

    def next(self):
        members = list(type(self))
        return members[(members.index(self) + 1) % len(members)]


for p in Planet:
    print(p.name, round(p.gravity, 2))
s = State.IDLE
for _ in range(4):
    print(s, end=" -> ")
    s = s.next()
print(s.value)
# %% functional enum
from enum import Enum

Animal = Enum("Animal", "CAT DOG")
Weekday = Enum("Weekday", {"MON": 1, "TUE": 2})
print(list(Animal), Weekday.MON, Weekday(2).name)
# %% namedtuple and typing.NamedTuple
from collections import namedtuple
from typing import NamedTuple

P = namedtuple("P", "x y z", defaults=[0])


class Emp(NamedTuple):
    name: str
    id: int = 3

    def tag(self):
        return f"{self.name}#{self.id}"


p = P(1, 2)
print(p, p._replace(x=5), p._asdict(), P._fields, P._make([7, 8, 9]), P._field_defaults)
e = Emp("Bo")
n, i = e
print(e, e.tag(), n, i, e == ("Bo", 3), Emp.__annotations__)


# %% mixins, super chains and the mro
class Base:
    def __init__(self, **kw):
        self.kw = kw
        print("Base", sorted(kw))


class A(Base):
    def __init__(self, a=1, **kw):
        super().__init__(**kw)
        self.a = a
        print("A")


class B(Base):
    def __init__(self, b=2, **kw):
        super().__init__(**kw)
        self.b = b
        print("B")


class C(A, B):
    def __init__(self, **kw):
        super().__init__(**kw)
        print("C")


c = C(a=5, b=6, z=7)
print([k.__name__ for k in C.__mro__], c.a, c.b, C.__bases__[0].__name__, C.__base__.__name__)
# %% a class decorator that adds methods
import functools


def auto_repr(cls):
    def __repr__(self):
        args = ", ".join(f"{k}={v!r}" for k, v in vars(self).items())
        return f"{cls.__name__}({args})"

    cls.__repr__ = __repr__
    return cls


def singleton(cls):
    instances = {}

    @functools.wraps(cls)
    def get(*args, **kwargs):
        if cls not in instances:
            instances[cls] = cls(*args, **kwargs)
        return instances[cls]

    return get


@auto_repr
class T:
    def __init__(self):
        self.a = 1
        self.b = "x"


@singleton
class Db:
    """A database."""

    def __init__(self, url):
        self.url = url


print(T(), Db("a") is Db("b"), Db("c").url, Db.__name__, Db.__doc__)
# %% decorator with arguments that retries
import functools


def retry(times=3, exceptions=(Exception,)):
    def decorate(fn):
        @functools.wraps(fn)
        def wrapper(*args, **kwargs):
            last = None
            for attempt in range(1, times + 1):
                try:
                    return fn(*args, **kwargs)
                except exceptions as e:
                    last = e
                    print(f"attempt {attempt} failed: {e}")
            raise last

        wrapper.calls = 0
        return wrapper

    return decorate


n = 0


@retry(times=3, exceptions=(ValueError,))
def flaky(x):
    """Flaky."""
    global n
    n += 1
    if n < 3:
        raise ValueError(f"no {n}")
    return x * 2


print(flaky(21), flaky.__name__, flaky.__doc__, flaky.calls, flaky.__wrapped__ is not flaky)
# %% a timing decorator class with __call__ and __get__
import functools, types


class CountCalls:
    def __init__(self, fn):
        functools.update_wrapper(self, fn)
        self.fn = fn
        self.n = 0

    def __call__(self, *a, **k):
        self.n += 1
        return self.fn(*a, **k)

    def __get__(self, obj, cls=None):
        return self if obj is None else types.MethodType(self, obj)


@CountCalls
def hello(name):
    return "hi " + name


class Greeter:
    @CountCalls
    def greet(self, x):
        return f"{type(self).__name__} {x}"


print(hello("a"), hello("b"), hello.n, hello.__name__)
g = Greeter()
print(g.greet(1), g.greet(2), Greeter.greet.n)


# %% __getattr__ proxy and dynamic attributes
class Proxy:
    def __init__(self, target):
        self._target = target
        self._log = []

    def __getattr__(self, name):
        self._log.append(name)
        return getattr(self._target, name)


class DotDict(dict):
    def __getattr__(self, k):
        try:
            return self[k]
        except KeyError:
            raise AttributeError(k) from None

    def __setattr__(self, k, v):
        self[k] = v

    def __delattr__(self, k):
        del self[k]


p = Proxy([3, 1, 2])
p.append(4)
p.sort()
print(p._target, p._log)
d = DotDict(a=1)
d.b = 2
del d.a
print(d, d.b, hasattr(d, "zz"), getattr(d, "zz", "default"))
# %% event emitter and observer with weak references
import weakref
from collections import defaultdict


class Emitter:
    def __init__(self):
        self._h = defaultdict(list)

    def on(self, ev, fn=None):
        if fn is None:
            return lambda f: self.on(ev, f)
        self._h[ev].append(fn)
        return fn

    def emit(self, ev, *a, **k):
        return [h(*a, **k) for h in self._h[ev]]


e = Emitter()


@e.on("x")
def one(v):
    return v + 1


e.on("x", lambda v: v * 2)
print(e.emit("x", 10), e.emit("none"))


class Obs:
    def __init__(self, n):
        self.n = n


o = Obs(1)
r = weakref.ref(o)
s = weakref.WeakSet([o])
print(r() is o, len(s))
del o
print(r(), len(s))
# %% __eq__ without __hash__, total_ordering, sorting by several keys
from functools import total_ordering


@total_ordering
class Version:
    def __init__(self, text):
        self.parts = tuple(int(p) for p in text.split("."))

    def __eq__(self, o):
        return self.parts == o.parts

    def __lt__(self, o):
        return self.parts < o.parts

    def __repr__(self):
        return "v" + ".".join(map(str, self.parts))


vs = [Version(t) for t in "1.10.0 1.2.0 0.9".split()]
print(sorted(vs), max(vs), Version("1.2.0") >= Version("1.2"), Version("1.0") != Version("1.0"))
try:
    {Version("1"): 1}
except TypeError as e:
    print(e)


# %% properties with setter and deleter, class and static methods
class Temp:
    _count = 0

    def __init__(self, c=0.0):
        self.celsius = c
        type(self)._count += 1

    @property
    def celsius(self):
        "In degrees."
        return self._c

    @celsius.setter
    def celsius(self, v):
        if v < -273.15:
            raise ValueError("below absolute zero")
        self._c = v

    @celsius.deleter
    def celsius(self):
        print("deleted")
        del self._c

    @property
    def fahrenheit(self):
        return self.celsius * 9 / 5 + 32

    @classmethod
    def from_f(cls, f):
        return cls((f - 32) * 5 / 9)

    @staticmethod
    def valid(c):
        return c >= -273.15

    @classmethod
    def count(cls):
        return cls._count


t = Temp.from_f(212)
print(t.celsius, t.fahrenheit, Temp.valid(-300), Temp.count(), Temp.celsius.__doc__)
del t.celsius
try:
    t.fahrenheit = 3
except AttributeError as e:
    print(e)
try:
    Temp(-300)
except ValueError as e:
    print(e)
# %% visitor with singledispatch and singledispatchmethod
from functools import singledispatch, singledispatchmethod


@singledispatch
def show(x):
    return f"object {x}"


@show.register
def _(x: int):
    return f"int {x}"


@show.register(list)
def _(x):
    return "list of " + ", ".join(show(i) for i in x)


class F:
    @singledispatchmethod
    def fmt(self, a):
        raise NotImplementedError(type(a).__name__)

    @fmt.register
    def _(self, a: str):
        return a.upper()

    @fmt.register
    def _(self, a: float):
        return f"{a:.1f}"


print(show(1), show([1, 2.5]), show("s"), F().fmt("a"), F().fmt(2.55))
try:
    F().fmt(None)
except NotImplementedError as e:
    print("no", e)


# %% metaclass registry
# ends: define `__init_subclass__` in a base class
class Meta(type):
    registry = {}

    def __new__(mcs, name, bases, ns):
        cls = super().__new__(mcs, name, bases, ns)
        mcs.registry[name] = cls
        return cls


class A(metaclass=Meta):
    pass


class B(A):
    pass


print(sorted(Meta.registry))


# %% metaclass singleton
# ends: define `__init_subclass__` in a base class
class Singleton(type):
    _instances = {}

    def __call__(cls, *args, **kwargs):
        if cls not in cls._instances:
            cls._instances[cls] = super().__call__(*args, **kwargs)
        return cls._instances[cls]


class Db(metaclass=Singleton):
    def __init__(self):
        self.x = 1


print(Db() is Db())
# %% class made by type()
# ends: write a class statement to make a class
Dyn = type("Dyn", (object,), {"x": 1, "hello": lambda self: "hi"})
print(Dyn().hello(), Dyn.x)
# %% TypedDict, Literal, Annotated and get_type_hints
from typing import (
    TypedDict,
    Literal,
    Annotated,
    get_type_hints,
    get_origin,
    get_args,
    Union,
    NotRequired,
    Final,
)


class Movie(TypedDict):
    title: str
    year: int
    rating: NotRequired[float]


Mode = Literal["r", "w"]
MAX: Final = 3


def f(a: int, b: "str" = "x", *c: float, m: Mode = "r") -> Union[int, None]: ...


m: Movie = {"title": "A", "year": 1}
print(m, get_type_hints(f), get_args(Mode), get_origin(list[int]), get_args(dict[str, int]))
print(sorted(Movie.__required_keys__), Movie.__total__, Movie.__annotations__["title"])
print(get_type_hints(f)["return"], int | None, Annotated[int, "meta"].__metadata__)
# %% a small dependency injection container
import inspect


class Container:
    def __init__(self):
        self._f = {}

    def register(self, cls, factory=None):
        self._f[cls] = factory or cls

    def resolve(self, cls):
        factory = self._f[cls]
        params = inspect.signature(factory).parameters
        return factory(**{n: self.resolve(p.annotation) for n, p in params.items()})


class Repo:
    def all(self):
        return [1, 2]


class Service:
    def __init__(self, repo: Repo):
        self.repo = repo


c = Container()
c.register(Repo)
c.register(Service)
print(
    c.resolve(Service).repo.all(),
    inspect.signature(Service),
    str(inspect.signature(lambda a, *, b=2: 0)),
)
# %% pickling and copying
import copy


class Node:
    def __init__(self, v, children=()):
        self.v, self.children = v, list(children)

    def __copy__(self):
        return Node(self.v, self.children)


a = Node(1, [Node(2)])
b, c = copy.copy(a), copy.deepcopy(a)
b.children.append(3)
c.children[0].v = 9
print(len(a.children), a.children[0].v, c.children[0].v)


# %% __repr__, __str__, __format__, __bytes__ and __int__
class Money:
    def __init__(self, cents):
        self.cents = cents

    def __repr__(self):
        return f"Money({self.cents})"

    def __str__(self):
        return f"${self.cents / 100:,.2f}"

    def __format__(self, spec):
        return str(self) if not spec else f"{str(self):{spec}}"

    def __int__(self):
        return self.cents

    def __float__(self):
        return self.cents / 100

    def __index__(self):
        return self.cents

    def __bytes__(self):
        return str(self).encode()

    def __round__(self, n=None):
        return round(float(self), n)

    def __complex__(self):
        return complex(self.cents)


m = Money(123456)
print(
    m,
    repr(m),
    f"{m:>15}|",
    int(m),
    float(m),
    hex(m),
    bytes(m),
    round(m, 1),
    [m],
    complex(m),
    f"{m!r:>20}",
)
# %% custom collections: MutableMapping, Sequence, Iterator
from collections.abc import MutableMapping, Sequence, Iterator


class CaseInsensitive(MutableMapping):
    def __init__(self, *a, **k):
        self._d = {}
        self.update(*a, **k)

    def __getitem__(self, k):
        return self._d[k.lower()]

    def __setitem__(self, k, v):
        self._d[k.lower()] = v

    def __delitem__(self, k):
        del self._d[k.lower()]

    def __iter__(self):
        return iter(self._d)

    def __len__(self):
        return len(self._d)

    def __repr__(self):
        return f"{type(self).__name__}({self._d})"


class Countdown(Iterator):
    def __init__(self, n):
        self.n = n

    def __next__(self):
        if self.n <= 0:
            raise StopIteration
        self.n -= 1
        return self.n + 1


class Page(Sequence):
    def __init__(self, items):
        self.items = items

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return len(self.items)


h = CaseInsensitive({"Content-Type": "a"}, X=1)
h.setdefault("content-TYPE", "b")
h.update(Y=2)
print(h, "x" in h, h.pop("X"), list(h.items()), h == {"content-type": "a", "y": 2})
print(
    list(Countdown(3)),
    isinstance(Countdown(1), Iterator),
    Page([1, 2, 3]).index(2),
    list(reversed(Page("abc"))),
    3 in Page([3]),
)
try:
    h["nope"]
except KeyError as e:
    print("KeyError", e)
