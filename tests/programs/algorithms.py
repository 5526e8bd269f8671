# %% dijkstra, bfs and dfs on a graph
import heapq
from collections import deque, defaultdict

G = {"A": {"B": 4, "C": 1}, "B": {"D": 1}, "C": {"B": 2, "D": 5}, "D": {}}


def dijkstra(g, s):
    dist = {n: float("inf") for n in g}
    dist[s] = 0
    prev = {}
    h = [(0, s)]
    while h:
        d, u = heapq.heappop(h)
        if d > dist[u]:
            continue
        for v, w in g[u].items():
            if (nd := d + w) < dist[v]:
                dist[v] = nd
                prev[v] = u
                heapq.heappush(h, (nd, v))
    return dist, prev


print(*dijkstra(G, "A"))


def bfs(g, s):
    seen, q = {s}, deque([s])
    while q:
        yield (n := q.popleft())
        for m in g[n]:
            if m not in seen:
                seen.add(m)
                q.append(m)


print(list(bfs(G, "A")))
# %% knapsack, lis and coin change
from functools import cache
import bisect


def knap(items, cap):
    dp = [0] * (cap + 1)
    for w, v in items:
        for c in range(cap, w - 1, -1):
            dp[c] = max(dp[c], dp[c - w] + v)
    return dp[cap]


@cache
def ways(n, coins):
    return (
        1 if n == 0 else 0 if n < 0 or not coins else ways(n - coins[0], coins) + ways(n, coins[1:])
    )


def lis(a):
    t = []
    for x in a:
        i = bisect.bisect_left(t, x)
        if i == len(t):
            t.append(x)
        else:
            t[i] = x
    return len(t)


print(
    knap([(1, 1), (3, 4), (4, 5), (5, 7)], 7),
    ways(100, (50, 25, 10, 5, 1)),
    lis([10, 9, 2, 5, 3, 7, 101, 18]),
    ways.cache_info().currsize > 0,
)
ways.cache_clear()


# %% n queens, permutations and sudoku by backtracking
def queens(n, cols=()):
    if len(cols) == n:
        yield cols
        return
    r = len(cols)
    for c in range(n):
        if all(c != x and abs(c - x) != r - i for i, x in enumerate(cols)):
            yield from queens(n, cols + (c,))


print(len(list(queens(6))), next(queens(8)))
for c in next(queens(4)):
    print(" ".join("Q" if i == c else "." for i in range(4)))


def perms(a):
    return [[x] + p for i, x in enumerate(a) for p in perms(a[:i] + a[i + 1 :])] if a else [[]]


print(len(perms([1, 2, 3, 4])), perms("ab" and [1, 2]))
# %% binary search tree with iteration
from __future__ import annotations
from dataclasses import dataclass
from typing import Optional, Iterator, Any


@dataclass
class Node:
    key: int
    left: Optional[Node] = None
    right: Optional[Node] = None


class BST:
    def __init__(self, it=()):
        self.root: Node | None = None
        self._n = 0
        [self.add(x) for x in it]

    def add(self, k):
        if self.root is None:
            self.root = Node(k)
            self._n += 1
            return
        n = self.root
        while True:
            if k == n.key:
                return
            side = "left" if k < n.key else "right"
            nxt = getattr(n, side)
            if nxt is None:
                setattr(n, side, Node(k))
                self._n += 1
                return
            n = nxt

    def __iter__(self) -> Iterator[int]:
        yield from self._walk(self.root)

    def _walk(self, n):
        if n:
            yield from self._walk(n.left)
            yield n.key
            yield from self._walk(n.right)

    def __len__(self):
        return self._n

    def __contains__(self, k):
        return any(k == x for x in self)

    def height(self, n: Any = ...):
        n = self.root if n is ... else n
        return 0 if n is None else 1 + max(self.height(n.left), self.height(n.right))


t = BST([5, 2, 8, 1, 9, 2])
print(list(t), len(t), 8 in t, 7 in t, t.height(), t.root.left)


# %% linked list with __iter__, __reversed__ and __getitem__
class LL:
    class _N:
        __slots__ = "v", "n"

        def __init__(self, v, n=None):
            self.v, self.n = v, n

    def __init__(self, *vs):
        self._h = None
        for v in reversed(vs):
            self._h = LL._N(v, self._h)

    def __iter__(self):
        n = self._h
        while n:
            yield n.v
            n = n.n

    def __len__(self):
        return sum(1 for _ in self)

    def __getitem__(self, i):
        if isinstance(i, slice):
            return LL(*list(self)[i])
        for j, v in enumerate(self):
            if i == j:
                return v
        raise IndexError(i)

    def reverse(self):
        p, c = None, self._h
        while c:
            c.n, p, c = p, c, c.n
        self._h = p
        return self

    def __repr__(self):
        return " -> ".join(map(repr, self)) or "empty"


l = LL(1, 2, 3)
print(l, len(l), l[1], l[1:], l.reverse(), LL(), 3 in l, list(zip(l, "abc")))


# %% union find, kruskal, floyd-warshall
class UF:
    def __init__(self, n):
        self.p, self.r = list(range(n)), [0] * n

    def find(self, x):
        while self.p[x] != x:
            self.p[x] = self.p[self.p[x]]
            x = self.p[x]
        return x

    def union(self, a, b):
        a, b = self.find(a), self.find(b)
        if a == b:
            return False
        if self.r[a] < self.r[b]:
            a, b = b, a
        self.p[b] = a
        self.r[a] += self.r[a] == self.r[b]
        return True


E = [(4, 0, 1), (1, 1, 2), (3, 0, 2), (7, 2, 3)]
u = UF(4)
print(sum(w for w, a, b in sorted(E) if u.union(a, b)), len({u.find(i) for i in range(4)}))


# %% trie and autocomplete
class Trie:
    def __init__(self):
        self.kids, self.end = {}, False

    def insert(self, w):
        n = self
        for c in w:
            n = n.kids.setdefault(c, Trie())
        n.end = True

    def words(self, prefix=""):
        n = self
        for c in prefix:
            if c not in n.kids:
                return
            n = n.kids[c]
        stack = [(n, prefix)]
        while stack:
            n, p = stack.pop()
            if n.end:
                yield p
            stack.extend((k, p + c) for c, k in sorted(n.kids.items(), reverse=True))


t = Trie()
[t.insert(w) for w in "car cart care dog do".split()]
print(list(t.words("car")), list(t.words("do")), list(t.words("x")), len(list(t.words())))


# %% game of life and mandelbrot as text
def step(cells):
    from collections import Counter

    n = Counter(
        (x + dx, y + dy) for x, y in cells for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy
    )
    return {c for c, k in n.items() if k == 3 or (k == 2 and c in cells)}


g = {(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)}
for _ in range(4):
    g = step(g)
print(sorted(g))
for y in range(-4, 5, 2):
    print(
        "".join(
            "*"
            if all(abs(z) < 2 for z in [0])
            and (lambda c: [z := 0j, all(abs(z := z * z + c) < 2 for _ in range(20))][1])(
                complex(x / 8, y / 4)
            )
            else " "
            for x in range(-16, 6)
        )
    )
# %% bank simulation with accounts and errors
from decimal import Decimal
from datetime import datetime


class InsufficientFunds(Exception):
    def __init__(self, need, have):
        super().__init__(f"need {need}, have {have}")
        self.need, self.have = need, have


class Account:
    _next = 1000

    def __init__(self, owner, balance="0"):
        self.owner, self.__balance, self.history = owner, Decimal(balance), []
        self.number = Account._next
        Account._next += 1

    @property
    def balance(self):
        return self.__balance

    def deposit(self, amt):
        amt = Decimal(str(amt))
        if amt <= 0:
            raise ValueError("deposit must be positive")
        self.__balance += amt
        self.history.append(("deposit", amt))
        return self

    def withdraw(self, amt):
        amt = Decimal(str(amt))
        if amt > self.__balance:
            raise InsufficientFunds(amt, self.__balance)
        self.__balance -= amt
        self.history.append(("withdraw", amt))
        return self

    def __repr__(self):
        return f"<Account {self.number} {self.owner}: {self.__balance:.2f}>"


a = Account("Ann", "100").deposit(50.25).withdraw("0.25")
print(a, a.history, a._Account__balance)
try:
    a.withdraw(1000)
except InsufficientFunds as e:
    print(e, e.need - e.have)
try:
    a.__balance
except AttributeError as e:
    print(e)
# %% a vending machine as a state machine of functions
from typing import Callable, NamedTuple


class Ev(NamedTuple):
    kind: str
    arg: object = None


State = Callable[["M", Ev], "State"]


class M:
    def __init__(self):
        self.state: State = idle
        self.coins = 0
        self.log = []

    def send(self, *evs):
        for e in evs:
            self.state = self.state(self, e)
            self.log.append(self.state.__name__)


def idle(m, e):
    if e.kind == "coin":
        m.coins += e.arg
        return ready if m.coins >= 10 else idle
    return idle


def ready(m, e):
    if e.kind == "push":
        m.coins -= 10
        print("item", e.arg)
        return idle
    return ready


m = M()
m.send(Ev("coin", 5), Ev("push"), Ev("coin", 5), Ev("push", "tea"))
print(m.log, m.coins)
# %% matrix determinant, gauss elimination with fractions
from fractions import Fraction as F


def solve(a, b):
    n = len(a)
    m = [[F(x) for x in r] + [F(y)] for r, y in zip(a, b)]
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(m[r][i]))
        m[i], m[p] = m[p], m[i]
        m[i] = [x / m[i][i] for x in m[i]]
        for j in range(n):
            if j != i:
                m[j] = [x - m[j][i] * y for x, y in zip(m[j], m[i])]
    return [r[-1] for r in m]


print(
    solve([[2, 1, -1], [-3, -1, 2], [-2, 1, 2]], [8, -11, -3]),
    *map(str, solve([[1, 2], [3, 5]], [1, 2])),
)


def det(m):
    return (
        m[0][0]
        if len(m) == 1
        else sum(
            (-1) ** j * x * det([r[:j] + r[j + 1 :] for r in m[1:]]) for j, x in enumerate(m[0])
        )
    )


print(det([[2, 0, 1], [1, 3, 2], [1, 1, 1]]))
# %% newton, bisection, numerical integration, monte carlo
import math


def newton(f, x, h=1e-7, tol=1e-10):
    for i in range(100):
        dx = f(x) / ((f(x + h) - f(x - h)) / (2 * h))
        x -= dx
        if abs(dx) < tol:
            return x, i
    raise RuntimeError("no convergence")


print(
    round(newton(lambda x: x * x - 2, 1)[0], 9),
    round(sum(math.sin(i * math.pi / 1000) for i in range(1000)) * math.pi / 1000, 5),
)


def simpson(f, a, b, n=100):
    h = (b - a) / n
    return (
        h / 3 * sum((1 if i in (0, n) else 4 if i % 2 else 2) * f(a + i * h) for i in range(n + 1))
    )


print(
    f"{simpson(math.exp, 0, 1):.8f}", math.isclose(simpson(math.cos, 0, math.pi), 0, abs_tol=1e-9)
)
# %% roman numerals, number words, base conversion, luhn
R = [
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
]


def roman(n):
    return (
        "".join(
            s * (n // v)
            for v, s in R
            if [0 for _ in [0]] and (n := n) is not None and not (n := n) < 0
        )
        if False
        else _roman(n)
    )


def _roman(n):
    out = []
    for v, s in R:
        q, n = divmod(n, v)
        out.append(s * q)
    return "".join(out)


def base(n, b, d="0123456789abcdefghijklmnopqrstuvwxyz"):
    return (base(n // b, b) if n >= b else "") + d[n % b]


def luhn(s):
    return (
        sum(
            d if i % 2 == 0 else sum(divmod(2 * d, 10))
            for i, d in enumerate(int(c) for c in reversed(s))
        )
        % 10
        == 0
    )


print(
    roman(1994),
    base(255, 16),
    base(10, 2),
    luhn("4539578763621486"),
    [n for n in range(1, 30) if n == sum(d for d in range(1, n) if n % d == 0)],
)
# %% fizzbuzz, collatz, primes, hanoi, ackermann
print(*("Fizz" * (i % 3 == 0) + "Buzz" * (i % 5 == 0) or i for i in range(1, 16)), sep=",")


def collatz(n):
    s = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        s.append(n)
    return s


print(collatz(6), max(range(1, 30), key=lambda n: len(collatz(n))))


def hanoi(n, a="A", b="B", c="C"):
    return hanoi(n - 1, a, c, b) + [(a, c)] + hanoi(n - 1, b, a, c) if n else []


print(len(hanoi(5)), hanoi(2))
ack = lambda m, n: n + 1 if m == 0 else ack(m - 1, 1) if n == 0 else ack(m - 1, ack(m, n - 1))
print(ack(2, 3))
# %% functional pipeline with partial, reduce, compose
# ends: `inspect.signature` shows the parameters
from functools import partial, reduce, wraps
import operator

compose = lambda *fs: reduce(lambda f, g: lambda x: g(f(x)), fs)
p = compose(partial(map, str.strip), partial(filter, None), partial(map, int), list, sorted)
print(
    p([" 3", "", "1 "]),
    reduce(operator.or_, [{1}, {2}], set()),
    partial(int, base=2)("101"),
    partial(print, "a", sep="-").keywords,
)


def curry(f):
    @wraps(f)
    def g(*a):
        return f(*a) if len(a) >= f.__code__.co_argcount else partial(g, *a)

    return g


class Pipe:
    def __init__(self, v):
        self.v = v

    def __or__(self, f):
        return Pipe(f(self.v))


print(
    (Pipe([3, 1]) | sorted | sum).v,
    list(map(operator.methodcaller("upper"), ["a"])),
    list(map(operator.attrgetter("real"), [1])),
)
# %% memoisation by hand and with a class
import functools


def memo(f):
    cache = {}

    @functools.wraps(f)
    def w(*a, **k):
        key = a + tuple(sorted(k.items()))
        if key not in cache:
            cache[key] = f(*a, **k)
        return cache[key]

    w.cache = cache
    return w


@memo
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(fib(80), len(fib.cache), fib.__name__)


class Data:
    @functools.cached_property
    def total(self):
        print("computing")
        return 42

    @functools.lru_cache(maxsize=2)
    def sq(self, n):
        return n * n


d = Data()
print(d.total, d.total, d.sq(3), d.sq(3), Data.sq.cache_info(), vars(d))
# %% event-driven simulation with a heap
import heapq, random, itertools


class Sim:
    def __init__(self):
        self.t, self.q, self.ids = 0.0, [], itertools.count()

    def at(self, dt, fn, *a):
        heapq.heappush(self.q, (self.t + dt, next(self.ids), fn, a))

    def run(self, until):
        while self.q and self.q[0][0] <= until:
            self.t, _, fn, a = heapq.heappop(self.q)
            fn(*a)


s, r, served = Sim(), random.Random(3), []


def arrive(n):
    s.at(r.expovariate(1), served.append, n)
    if n < 9:
        s.at(r.expovariate(2), arrive, n + 1)


s.at(0, arrive, 0)
s.run(100)
print(served, round(s.t, 4))


# %% text adventure with a command table
class Game:
    def __init__(self):
        self.room, self.inv, self.out = "hall", [], []

    ROOMS = {
        "hall": {"exits": {"n": "library"}, "items": ["lamp"]},
        "library": {"exits": {"s": "hall"}, "items": []},
    }

    def do(self, line):
        cmd, *args = line.split()
        handler = getattr(self, f"cmd_{cmd}", None)
        return handler(*args) if handler else f"I don't know how to {cmd}."

    def cmd_go(self, d):
        try:
            self.room = self.ROOMS[self.room]["exits"][d]
            return f"You are in the {self.room}."
        except KeyError:
            return "You can't go there."

    def cmd_take(self, i):
        items = self.ROOMS[self.room]["items"]
        if i not in items:
            return "No such thing."
        items.remove(i)
        self.inv.append(i)
        return f"Taken: {i}."

    def cmd_inv(self):
        return ", ".join(self.inv) or "empty"


g = Game()
[print(">", c, "\n" + g.do(c)) for c in ("take lamp", "go n", "go w", "dance", "inv")]
print([m for m in dir(Game) if m.startswith("cmd_")])


# %% a virtual machine and a brainfuck interpreter
def bf(src, inp=""):
    tape, p, i, out, st, j, it = [0] * 100, 0, 0, [], [], {}, iter(inp)
    for k, c in enumerate(src):
        if c == "[":
            st.append(k)
        elif c == "]":
            j[k] = st[-1]
            j[st.pop()] = k
    while i < len(src):
        match src[i]:
            case ">":
                p += 1
            case "<":
                p -= 1
            case "+":
                tape[p] = (tape[p] + 1) % 256
            case "-":
                tape[p] = (tape[p] - 1) % 256
            case ".":
                out.append(chr(tape[p]))
            case ",":
                tape[p] = ord(next(it, "\0"))
            case "[" if not tape[p]:
                i = j[i]
            case "]" if tape[p]:
                i = j[i]
        i += 1
    return "".join(out)


print(bf("++++++++[>++++[>++>+++>+++>+<<<<-]>+>+>->>+[<]<-]>>.>---.+++++++..+++."))
# %% huffman coding
import heapq
from collections import Counter


def codes(s):
    h = [[n, i, c] for i, (c, n) in enumerate(sorted(Counter(s).items()))]
    heapq.heapify(h)
    k = len(h)
    while len(h) > 1:
        a, b = heapq.heappop(h), heapq.heappop(h)
        heapq.heappush(h, [a[0] + b[0], k, (a[2], b[2])])
        k += 1
    out = {}

    def walk(n, p):
        if isinstance(n, tuple):
            walk(n[0], p + "0")
            walk(n[1], p + "1")
        else:
            out[n] = p or "0"

    walk(h[0][2], "")
    return out


c = codes("abracadabra")
print(c, "".join(c[x] for x in "abra"))
# %% the value of the last expression is not printed
x = [1, 2, 3]
x
sum(x)
# %% globals changed by functions, default mutable arguments, closures
counter = 0


def inc():
    global counter
    counter += 1
    return counter


def f(x, acc=[]):
    acc.append(x)
    return acc


def make():
    n = 0

    def add(k=1):
        nonlocal n
        n += k
        return n

    return add


a, b = make(), make()
print(
    inc(),
    inc(),
    counter,
    f(1),
    f(2),
    a(),
    a(5),
    b(),
    [g() for g in [lambda: i for i in range(3)]],
    f.__defaults__,
)
try:
    print(undefined_thing)
except NameError as e:
    print("NameError", e)


def h():
    try:
        print(v)
        v = 1
    except UnboundLocalError as e:
        print(type(e).__name__)


h()
# %% error messages of common mistakes
tests = [
    lambda: [][5],
    lambda: {}["k"],
    lambda: 1 + "a",
    lambda: "a" + 1,
    lambda: len(5),
    lambda: None.x,
    lambda: int("q"),
    lambda: (lambda x: x)(),
    lambda: [].nope,
    lambda: {[]: 1},
    lambda: next(iter([])),
    lambda: 1 / 0,
    lambda: max([]),
    lambda: (1, 2, 3)[9],
    lambda: "abc".index("z"),
    lambda: [3].remove(4),
    lambda: "a" < 1,
    lambda: set([1]).pop(2),
    lambda: range(1.5),
    lambda: "x" * "y",
    lambda: abs("a"),
    lambda: int([]),
    lambda: {}.popitem(),
    lambda: float("x"),
    lambda: chr(-1),
    lambda: [] + (),
    lambda: dict([1]),
    lambda: sorted([1, "a"]),
    lambda: sum(["a"]),
    lambda: "{}".format(),
    lambda: "%d" % "a",
    lambda: iter(5),
    lambda: open.__name__ if False else (_ for _ in ()).throw(OSError(2, "No such file")),
]
for t in tests:
    try:
        t()
        print("no error")
    except Exception as e:
        print(type(e).__name__, "|", e)
a = b = None
try:
    a, b = [1, 2, 3]
except ValueError as e:
    print(e)


def f(a, *, b):
    pass


for args, kw in [((), {}), ((1, 2), {}), ((1,), {"c": 1}), ((1,), {"a": 2})]:
    try:
        f(*args, **kw)
    except TypeError as e:
        print(e)
# %% while-else, for-else, nested breaks, ternaries, chained comparison
for n in range(2, 10):
    for d in range(2, n):
        if n % d == 0:
            break
    else:
        print(n, end=" ")
i = 0
while i < 3:
    i += 1
else:
    print("while-else", i)
print(
    "big" if i > 2 else "small",
    1 < i <= 3,
    not i == 3,
    i and "t" or "f",
    [] or "empty",
    (i := 5) + i,
    ... is Ellipsis,
    True + True,
)
del i
print("i" in dir(), __name__, __doc__)
# %% a tiny web framework with routing decorators
import re, json
from dataclasses import dataclass, field


@dataclass
class Request:
    method: str
    path: str
    body: dict = field(default_factory=dict)


@dataclass
class Response:
    body: object
    status: int = 200


class App:
    def __init__(self):
        self.routes = []

    def route(self, pattern, methods=("GET",)):
        rx = re.compile(
            "^"
            + re.sub(
                r"<(\w+):(\w+)>", r"(?P<\2>\\d+)", re.sub(r"<(\w+)>", r"(?P<\1>[^/]+)", pattern)
            )
            + "$"
        )

        def deco(fn):
            self.routes.append((rx, methods, fn))
            return fn

        return deco

    def handle(self, r):
        for rx, ms, fn in self.routes:
            if m := rx.match(r.path):
                if r.method not in ms:
                    return Response("method not allowed", 405)
                out = fn(r, **m.groupdict())
                return out if isinstance(out, Response) else Response(out)
        return Response("not found", 404)


app = App()


@app.route("/users/<name>")
def user(req, name):
    return {"user": name}


@app.route("/items", methods=["POST"])
def items(req):
    return Response(req.body, 201)


for r in [
    Request("GET", "/users/ann"),
    Request("POST", "/items", {"a": 1}),
    Request("GET", "/items"),
    Request("GET", "/x"),
]:
    res = app.handle(r)
    print(int(res.status), json.dumps(res.body))
# %% http status codes and mimetypes
# ends: a policy can grant it: "modules": ["mimetypes"]
from http import HTTPStatus
import mimetypes

print(HTTPStatus(404).phrase, HTTPStatus.OK.value, mimetypes.guess_type("a.png"))
