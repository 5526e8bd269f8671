"""The programs of `facade_samples` whose modules make classes, functions and contexts."""

# ruff: noqa: E501 - a program reads better in few lines than in short ones
from __future__ import annotations

TYPE_SAMPLES: dict[str, list[str]] = {
    "abc": [
        "import abc\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def f(self): pass\n"
        "try:\n    A()\nexcept TypeError as e:\n    found = 'abstract' in str(e)\nfound",
        "import abc\nclass A(metaclass=abc.ABCMeta):\n    pass\nisinstance(A, abc.ABCMeta)",
    ],
    "collections": [
        "import collections as c\nd = c.defaultdict(list); d['a'].append(1)\n"
        "P = c.namedtuple('P', 'x y', defaults=[2])\nu = c.UserDict(a=1); u['b'] = 2\n"
        "[d, P(1), P(1)._asdict(), c.Counter('aab').most_common(1), c.deque([1, 2], 1),"
        "c.OrderedDict(a=1), c.ChainMap({1: 2}, {3: 4})[3], dict(u), u.copy() == u,"
        "c.UserList([1]) + [2], c.abc.Sized]",
    ],
    "collections.abc": [
        "import collections.abc as a\n[a.AsyncGenerator, a.AsyncIterable, a.AsyncIterator, a.Awaitable,"
        "a.Callable, a.Collection, a.Container, a.Coroutine, a.Generator, a.Hashable, a.ItemsView,"
        "a.Iterable, a.Iterator, a.KeysView, a.Mapping, a.MappingView, a.MutableMapping,"
        "a.MutableSequence, a.MutableSet, a.Reversible, a.Sequence, a.Set, a.Sized, a.ValuesView]",
        "from collections.abc import Mapping\nclass M(Mapping):\n    def __getitem__(self, k): return 1\n"
        "    def __iter__(self): return iter('a')\n    def __len__(self): return 1\n"
        "[dict(M()), M().get('a'), isinstance({}, Mapping)]",
    ],
    "contextlib": [
        "import contextlib as c, io\nb = io.StringIO()\nwith c.redirect_stdout(b):\n    print('in')\n"
        "with c.redirect_stderr(b):\n    pass\nwith c.suppress(ValueError):\n    raise ValueError\n"
        "@c.contextmanager\ndef f():\n    yield 1\nwith f() as x, c.nullcontext(2) as y:\n    pass\n"
        "with c.closing(io.StringIO()) as z:\n    pass\nwith c.ExitStack() as s:\n"
        "    w = s.enter_context(f())\n[b.getvalue(), x, y, z.closed, w]",
        "import contextlib as c\nclass D(c.ContextDecorator):\n    def __enter__(self): return self\n"
        "    def __exit__(self, *e): return True\n@D()\ndef f(): raise ValueError\n"
        "class M(c.AbstractContextManager):\n    def __exit__(self, *e): return None\n"
        "with M() as m:\n    pass\n[f(), isinstance(m, c.AbstractContextManager),"
        "issubclass(c.AsyncExitStack, c.AbstractAsyncContextManager)]",
        "import contextlib as c, asyncio\nlog = []\n@c.asynccontextmanager\nasync def f():\n    log.append(1)\n"
        "    yield 2\n    log.append(3)\nasync def g():\n    yield 4\n"
        "class D(c.AsyncContextDecorator):\n    async def __aenter__(self): log.append(5)\n"
        "    async def __aexit__(self, *e): log.append(6)\n@D()\nasync def h(): log.append(7)\n"
        "async def main():\n    async with c.AsyncExitStack() as s:\n"
        "        log.append(await s.enter_async_context(f()))\n    async with c.aclosing(g()) as x:\n"
        "        async for y in x:\n            log.append(y)\n    await h()\nasyncio.run(main())\nlog",
    ],
    "copy": [
        "import copy\nx = [[1]]\n[copy.copy(x)[0] is x[0], copy.deepcopy(x)[0] is x[0], copy.Error]"
    ],
    "dataclasses": [
        "import dataclasses as d\n@d.dataclass(order=True, frozen=True)\nclass P:\n    x: int\n"
        "    y: list = d.field(default_factory=list, compare=False)\n    _: d.KW_ONLY\n    z: int = 0\n"
        "    i: d.InitVar[int] = 1\n    def __post_init__(self, i): assert i == 1\n"
        "try:\n    P(1).x = 2\nexcept d.FrozenInstanceError:\n    frozen = True\n"
        "[P(1), d.asdict(P(1)), d.astuple(P(1)), d.replace(P(1), x=2, i=1), d.is_dataclass(P),"
        "[f.name for f in d.fields(P)], d.fields(P)[0].default is d.MISSING, frozen, P(1) < P(2)]",
    ],
    "enum": [
        "import enum as e\n@e.unique\nclass C(e.Enum):\n    A = e.auto()\n    B = e.auto()\n"
        "class I(e.IntEnum):\n    X = 3\nclass S(e.StrEnum):\n    A = e.auto()\n"
        "class F(e.Flag):\n    R = 1\n    W = 2\nclass G(e.IntFlag):\n    Q = 1\n"
        "class N(e.Enum):\n    a = e.member(1)\n    b = e.nonmember(2)\n"
        "[list(C), C(1), C['B'], I.X + 1, S.A, F.R | F.W, G.Q | 4, list(N), N.b]",
        "import enum as e\n@e.verify(e.CONTINUOUS, e.UNIQUE)\nclass C(e.IntEnum):\n    A = 1\n    B = 2\n"
        "class F(e.Flag, boundary=e.STRICT):\n    A = 1\n"
        "[e.CONFORM, e.EJECT, e.KEEP, e.FlagBoundary.KEEP, e.NAMED_FLAGS, e.EnumCheck.UNIQUE]",
    ],
    "functools": [
        "import functools as f\ncalls = []\n@f.cache\ndef a(n): calls.append(n); return n\n"
        "@f.lru_cache(2)\ndef b(n): return n\na(1), a(1), b(2)\nclass C:\n"
        "    @f.cached_property\n    def p(self): return 1\n    def m(self, x, y): return x, y\n"
        "    q = f.partialmethod(m, 1)\n[calls, C().p, C().q(2), f.reduce(max, [1, 3]), f.partial(pow, 2)(3),"
        "sorted('ba', key=f.cmp_to_key(lambda x, y: (x > y) - (x < y))), b.cache_info().misses]",
        "import functools as f\n@f.singledispatch\ndef show(x): return 'any'\n@show.register(int)\n"
        "def _(x): return 'int'\n@show.register\ndef _(x: str): return 'str'\n@show.register\n"
        "def _(x: list | tuple): return 'seq'\n@show.register\ndef _(x: 'dict'): return 'dict'\n"
        "show.register(float, lambda x: 'float')\n[show(v) for v in (1, 'a', [], (), {}, .5, None, True)] + "
        "[show.dispatch(int)(1), sorted(k.__name__ for k in show.registry)]",
        "import functools as f\nclass C:\n    @f.singledispatchmethod\n    def show(self, x): return 'any'\n"
        "    @show.register\n    def _(self, x: int): return self, 'int'\n"
        "    @show.register(str)\n    @classmethod\n    def _(cls, x): return cls.__name__\n"
        "c = C()\n[c.show(1.5), c.show(1)[0] is c, c.show('a')]",
        "import functools as f\ndef a():\n    'doc'\na.tag = 1\n@f.wraps(a)\ndef b(): pass\ndef c(): pass\n"
        "f.update_wrapper(c, a)\n@f.total_ordering\nclass T:\n    def __init__(self, n): self.n = n\n"
        "    def __eq__(self, o): return self.n == o.n\n    def __lt__(self, o): return self.n < o.n\n"
        "[b.__name__, b.__doc__, b.tag, c.__name__, c.__qualname__, T(1) >= T(0)]",
    ],
    "numbers": [
        "import numbers as n\n[isinstance(1, k) for k in (n.Complex, n.Integral, n.Number, n.Rational, n.Real)]",
    ],
    "operator": [
        "import operator as o\n[f(7, 2) for f in (o.add, o.and_, o.eq, o.floordiv, o.ge, o.gt, o.iadd, o.iand,"
        "o.ifloordiv, o.ilshift, o.imod, o.imul, o.ior, o.ipow, o.irshift, o.is_, o.is_not, o.isub,"
        "o.itruediv, o.ixor, o.le, o.lshift, o.lt, o.mod, o.mul, o.ne, o.or_, o.pow, o.rshift,"
        "o.sub, o.truediv, o.xor)] + [f(3) for f in (o.abs, o.index, o.inv, o.invert, o.neg, o.not_,"
        "o.pos, o.truth)]",
        "import operator as o\nclass M:\n    def __matmul__(self, x): return 1\n    __slots__ = ('a', 'b')\n"
        "m = M(); m.a = 1; m.b = M(); m.b.a = 2\nx = [1, 2, 3]\no.setitem(x, 0, 9), o.delitem(x, 1)\n"
        "[o.matmul(m, 1), o.imatmul(m, 1), x, o.concat([1], [2]), o.iconcat([1], [2]), o.contains(x, 3),"
        "o.countOf(x, 3), o.getitem(x, 0), o.indexOf(x, 3), o.itemgetter(0, 1)(x), o.length_hint(x),"
        "o.call(len, x), o.attrgetter('a')(m), o.attrgetter('a', 'b.a')(m),"
        "o.methodcaller('split', ',', maxsplit=1)('a,b,c'), o.methodcaller('format', 1)('{}')]",
    ],
    "sys": [
        "import sys\n[sys.maxsize, sys.float_info.max, sys.int_info.bits_per_digit, sys.hash_info.width,"
        "sys.version_info[:2], sys.version, sys.hexversion, sys.implementation.name, sys.byteorder, sys.maxunicode, sys.platform,"
        "sys.intern('a'), sys.getsizeof(1), sys.exc_info(), sys.exception()]",
        "import sys\ntry:\n    sys.exit(3)\nexcept SystemExit as e:\n    code = e.code\nlimit = "
        "sys.getrecursionlimit()\nsys.setrecursionlimit(limit + 10)\nnow = sys.getrecursionlimit()\n"
        "sys.setrecursionlimit(limit)\n[code, now - limit, len(sys.argv) > 0, sys.stdout.writable(),"
        "sys.stderr.writable(), sys.stdout.isatty() in (True, False)]",
    ],
    "traceback": [
        "import traceback as t, io\nb = io.StringIO()\ntry:\n    1 / 0\nexcept ZeroDivisionError as e:\n"
        "    t.print_exc(file=b)\n    t.print_exception(e, file=b)\n    t.print_exception(type(e), e, None, file=b)\n"
        "    found = [t.format_exc().splitlines()[-1], t.format_exception(e)[-1],"
        "t.format_exception_only(e), b.getvalue().count('ZeroDivisionError: division by zero')]\n"
        "found + [t.format_exc()]",
        "import traceback as t, io\nb = io.StringIO()\ntry:\n    1 / 0\nexcept ZeroDivisionError as e:\n"
        "    tb = e.__traceback__\n    t.print_tb(tb, file=b)\n"
        "    found = [t.extract_tb(tb)[0].lineno, t.format_tb(tb) == t.format_list(t.extract_tb(tb)),"
        "'line 4, in <module>' in b.getvalue()]\nfound",
    ],
    "types": [
        "import types as t\nasync def c(): pass\nasync def ag(): yield\ndef g(): yield\nco = c()\nn = "
        "t.SimpleNamespace(a=1); n.b = 2\np = t.MappingProxyType({'a': 1})\nfound = [n, vars(n), n == "
        "t.SimpleNamespace(a=1, b=2), p['a'], p, isinstance(p, t.MappingProxyType), isinstance(co, t.CoroutineType),"
        "isinstance(ag(), t.AsyncGeneratorType), isinstance(g(), t.GeneratorType), isinstance(g, t.FunctionType),"
        "isinstance(g, t.LambdaType), isinstance(len, t.BuiltinFunctionType), isinstance([].append, "
        "t.BuiltinMethodType), isinstance(None, t.NoneType), isinstance(..., t.EllipsisType),"
        "isinstance(NotImplemented, t.NotImplementedType), isinstance(int | str, t.UnionType),"
        "isinstance(list[int], t.GenericAlias), isinstance(1, t.ModuleType), isinstance(g, t.MethodType)]\n"
        "co.close()\nfound",
        "import types as t\n[isinstance(1, k) for k in (t.TracebackType, t.FrameType, t.CodeType, t.CellType)]",
        "import types\nclass N(types.SimpleNamespace):\n    def total(self): return self.a + self._b\nN(a=1, _b=2).total()",
    ],
    "typing": [
        "import typing as t\n[t.AbstractSet[int], t.Annotated[int, 1], t.Any, t.AnyStr, t.AsyncContextManager[int],"
        "t.AsyncGenerator[int, int], t.AsyncIterable[int], t.AsyncIterator[int], t.Awaitable[int], t.BinaryIO,"
        "t.Callable[[int], str], t.ChainMap[int, int], t.ClassVar[int], t.Collection[int], t.Container[int],"
        "t.ContextManager[int], t.Coroutine[int, int, int], t.Counter[int], t.DefaultDict[int, int], t.Deque[int],"
        "t.Dict[int, int], t.Final[int], t.FrozenSet[int], t.Generator[int, int, int], t.Hashable, t.IO[str],"
        "t.ItemsView[int, int], t.Iterable[int], t.Iterator[int], t.KeysView[int], t.List[int], t.Literal[1],"
        "t.LiteralString, t.Mapping[int, int], t.MappingView[int], t.Match[str], t.MutableMapping[int, int],"
        "t.MutableSequence[int], t.MutableSet[int], t.Never, t.NoReturn, t.NotRequired[int], t.Optional[int],"
        "t.OrderedDict[int, int], t.Pattern[str], t.Required[int], t.Reversible[int], t.Self, t.Sequence[int],"
        "t.Set[int], t.Sized, t.SupportsAbs, t.SupportsBytes, t.SupportsComplex, t.SupportsFloat,"
        "t.SupportsIndex, t.SupportsInt, t.SupportsRound, t.TYPE_CHECKING, t.Text, t.TextIO, t.Tuple[int],"
        "t.Type[int], t.TypeAlias, t.TypeGuard[int], t.Union[int, str], t.ValuesView[int]]",
        "import typing as t\nT = t.TypeVar('T'); P = t.ParamSpec('P'); Ts = t.TypeVarTuple('Ts')\n"
        "class B(t.Generic[T]): pass\nclass R(t.NamedTuple):\n    a: int = 1\n"
        "class D(t.TypedDict):\n    a: int\n@t.runtime_checkable\nclass Q(t.Protocol):\n    def f(self): ...\n"
        "@t.overload\ndef f(x: int): ...\ndef f(x): return x\n@t.final\nclass F: pass\n"
        "[R(), D(a=1), isinstance(1, Q), f(1), t.cast(int, 'a'), t.is_typeddict(D), t.NewType('U', int)(1),"
        "t.assert_type(1, int), t.Concatenate[int, P], t.Unpack[Ts], callable(t.assert_never)]",
        "import typing as t\nclass A:\n    x: int\n    y: t.Annotated[str, 1]\nclass B(A):\n    z: list\n"
        "def f(a: int, b: t.Optional[str] = None) -> list[int]: ...\n"
        "[t.get_type_hints(B), t.get_type_hints(B, include_extras=True), t.get_type_hints(f),"
        "t.get_origin(t.List[int]), t.get_origin(int | str), t.get_origin(int), t.get_args(t.Dict[int, str]),"
        "t.get_args(t.Callable[[int], str]), t.get_args(t.Annotated[int, 1])]",
    ],
    "warnings": [
        "import warnings as w\nwith w.catch_warnings(record=True) as log:\n    w.simplefilter('always')\n"
        "    w.warn('one')\n    w.warn('two', DeprecationWarning, stacklevel=1)\n    w.warn(RuntimeWarning('three'))\n"
        "    w.filterwarnings('ignore', message='fo.r')\n    w.warn('four')\n    w.resetwarnings()\n"
        "    w.simplefilter('error')\n    try:\n        w.warn('five', FutureWarning)\n"
        "    except FutureWarning as e:\n        raised = str(e)\n"
        "[[(str(one.message), one.category, one.lineno) for one in log], raised,"
        "[isinstance(one, w.WarningMessage) for one in log]]",
    ],
}
