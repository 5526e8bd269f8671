# %% csv text to grouped totals
import csv, io
from collections import defaultdict

text = """region,product,qty,price
north,apple,10,1.5
south,pear,5,2
north,pear,7,2
south,"kiwi, green",3,0.5
"""
totals = defaultdict(float)
rows = list(csv.DictReader(io.StringIO(text)))
for r in rows:
    totals[r["region"]] += int(r["qty"]) * float(r["price"])
for k, v in sorted(totals.items(), key=lambda kv: -kv[1]):
    print(f"{k:<10}{v:>10.2f}")
out = io.StringIO()
w = csv.DictWriter(out, fieldnames=["region", "total"], extrasaction="ignore")
w.writeheader()
w.writerows({"region": k, "total": v, "x": 1} for k, v in totals.items())
print(out.getvalue().replace("\r\n", "|"))
print(rows[3]["product"], list(rows[0]))
# %% csv with dialects, quoting and a sniffer
import csv, io

s = csv.Sniffer()
d = s.sniff("a;b;c\n1;2;3\n4;5;6\n")
print(repr(d.delimiter), s.has_header("name,age\nann,3\nbob,4\n"))
csv.register_dialect("pipes", delimiter="|", quoting=csv.QUOTE_ALL)
b = io.StringIO()
csv.writer(b, "pipes").writerows([[1, "a|b"], ['c"d', None]])
print(b.getvalue())
print(list(csv.reader(["'a b' c"], delimiter=" ", quotechar="'")))
print(list(csv.reader(io.StringIO('x,"multi\nline",z'))))
try:
    list(csv.reader(['a,"b"c'], strict=True))
except csv.Error as e:
    print("csv.Error:", e)
# %% json with a custom encoder, hook and errors
import json, datetime, decimal, uuid, enum, dataclasses


class Color(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class P:
    x: int
    when: datetime.date


class Enc(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, (datetime.date, datetime.datetime)):
            return o.isoformat()
        if isinstance(o, decimal.Decimal):
            return float(o)
        if isinstance(o, set):
            return sorted(o)
        if isinstance(o, enum.Enum):
            return o.value
        if dataclasses.is_dataclass(o):
            return dataclasses.asdict(o)
        return super().default(o)


data = {
    "d": datetime.date(2024, 2, 29),
    "n": decimal.Decimal("1.10"),
    "s": {3, 1},
    "c": Color.RED,
    "p": P(1, datetime.date(2020, 1, 1)),
}
print(json.dumps(data, cls=Enc, indent=2, sort_keys=True))
print(
    json.loads(
        '{"a": 1.5, "b": [1, null, true]}',
        parse_float=decimal.Decimal,
        object_hook=lambda d: sorted(d),
    )
)
print(json.loads('{"a": 1, "a": 2}', object_pairs_hook=list))
for bad in ['{"a": }', "[1, 2", "nope", ""]:
    try:
        json.loads(bad)
    except json.JSONDecodeError as e:
        print(e.msg, e.lineno, e.colno, e.pos)
try:
    json.dumps({"x": object()})
except TypeError as e:
    print(e)
print(
    json.dumps("é\n\u2028"),
    json.dumps("é", ensure_ascii=False),
    json.dumps([1, 2], separators=(",", ":")),
    json.dumps(float("nan")),
)
# %% json lines and flattening
import json

lines = '{"u": {"n": "a", "t": [1, 2]}}\n\n{"u": {"n": "b", "t": []}}\n'


def flatten(d, prefix=""):
    for k, v in d.items():
        key = f"{prefix}.{k}" if prefix else k
        if isinstance(v, dict):
            yield from flatten(v, key)
        elif isinstance(v, list):
            yield from ((f"{key}[{i}]", x) for i, x in enumerate(v))
        else:
            yield key, v


for n, line in enumerate(lines.splitlines(), 1):
    if line.strip():
        print(n, dict(flatten(json.loads(line))))
# %% Counter, most_common and arithmetic
from collections import Counter, deque, ChainMap, OrderedDict

c = Counter("mississippi")
c.update({"m": 3})
c.subtract("s")
print(
    c.most_common(2),
    c["z"],
    sum(c.values()),
    +Counter(a=1, b=-1),
    Counter("ab") | Counter("bc"),
    Counter("ab") & Counter("bb"),
)
print(sorted(c.elements()), c.total(), dict(c))
q = deque(range(5), maxlen=3)
q.appendleft(9)
q.rotate(1)
print(q, q[0], list(reversed(q)))
m = ChainMap({"a": 1}, {"a": 2, "b": 3})
n = m.new_child({"c": 4})
print(m["a"], dict(n), n.parents, n.maps)
o = OrderedDict(a=1, b=2, c=3)
o.move_to_end("a")
print(o, o.popitem(last=False), list(o))
# %% groupby, windows, pairwise and chunks
from itertools import (
    groupby,
    islice,
    pairwise,
    tee,
    zip_longest,
    accumulate,
    chain,
    product,
    permutations,
    combinations,
    takewhile,
    dropwhile,
    starmap,
    cycle,
    compress,
    count,
    repeat,
)
import operator

rows = [("a", 1), ("a", 2), ("b", 3), ("a", 4)]
print({k: [v for _, v in g] for k, g in groupby(sorted(rows), key=operator.itemgetter(0))})
print([(k, len(list(g))) for k, g in groupby("aaabccd")])


def chunks(it, n):
    it = iter(it)
    while batch := list(islice(it, n)):
        yield batch


print(
    list(chunks(range(7), 3)),
    list(pairwise([1, 4, 9])),
    list(zip_longest("ab", "c", fillvalue="-")),
)
print(
    list(accumulate([1, 2, 3], operator.mul, initial=10)), list(chain.from_iterable([[1], [2, 3]]))
)
print(
    list(product("ab", repeat=2))[:3],
    len(list(permutations(range(4)))),
    list(combinations("abc", 2)),
)
print(
    list(takewhile(lambda x: x < 3, count())),
    list(dropwhile(str.isdigit, "12ab3")),
    list(starmap(pow, [(2, 3)])),
)
print(list(islice(cycle("xy"), 5)), list(compress("abcd", [1, 0, 1])), list(repeat(0, 2)))
a, b = tee([1, 2, 3])
next(b)
print(list(zip(a, b)))
print(repr(count(3)), repr(repeat(1, 2)))
# %% statistics of a series
import statistics as st

data = [2.5, 3.1, 4.7, 5.0, 3.1, 9.9]
print(
    st.mean(data),
    st.median(data),
    st.mode(data),
    round(st.stdev(data), 4),
    round(st.pvariance(data), 4),
)
print(
    st.quantiles(data, n=4),
    st.multimode("aabbc"),
    st.fmean([1, 2], weights=[1, 3]),
    st.harmonic_mean([1, 2]),
)
x, y = [1, 2, 3, 4], [2, 4.1, 6.2, 7.9]
print(st.linear_regression(x, y), round(st.correlation(x, y), 6), st.covariance(x, y))
n = st.NormalDist(100, 15)
print(round(n.cdf(115), 4), n.inv_cdf(0.5), n + 5, n.zscore(130))
try:
    st.mean([])
except st.StatisticsError as e:
    print(e)
# %% decimal money and contexts
from decimal import (
    Decimal,
    ROUND_HALF_UP,
    getcontext,
    localcontext,
    InvalidOperation,
    DivisionByZero,
)

p = Decimal("19.99")
t = (p * Decimal("0.0825")).quantize(Decimal("0.01"), rounding=ROUND_HALF_UP)
print(
    t, p + t, Decimal(1) / Decimal(7), Decimal("1E+3").normalize(), f"{Decimal('1234567.891'):,.2f}"
)
with localcontext() as c:
    c.prec = 5
    print(Decimal(2).sqrt(), c.prec)
print(
    getcontext().prec, Decimal("3.14").as_tuple(), Decimal("0.1") + Decimal("0.2") == Decimal("0.3")
)
for bad in (lambda: Decimal("abc"), lambda: Decimal(1) / 0):
    try:
        bad()
    except (InvalidOperation, DivisionByZero) as e:
        print(type(e).__name__, e)
print(
    sum([Decimal("0.1")] * 3),
    round(Decimal("2.675"), 2),
    int(Decimal("9.99")),
    Decimal.from_float(0.5),
    Decimal("-0").is_signed(),
)
# %% fractions and number theory
from fractions import Fraction
import math

print(
    Fraction(3, 4) + Fraction("1/6"),
    Fraction(0.5),
    Fraction("2.25"),
    Fraction(math.pi).limit_denominator(1000),
)
print(
    Fraction(7, 3).__floor__(),
    divmod(Fraction(7, 2), 1),
    Fraction(1, 3) ** 2,
    float(Fraction(1, 8)),
    Fraction(2, 4).numerator,
)
print(
    math.gcd(12, 18, 30),
    math.lcm(4, 6),
    math.comb(10, 3),
    math.perm(5, 2),
    math.isqrt(99),
    pow(3, -1, 11),
    math.factorial(20),
)


def primes(n):
    s = bytearray([1]) * (n + 1)
    s[:2] = b"\0\0"
    for i in range(2, math.isqrt(n) + 1):
        if s[i]:
            s[i * i :: i] = bytes(len(s[i * i :: i]))
    return [i for i, v in enumerate(s) if v]


print(primes(50), math.prod(primes(10)), math.isclose(0.1 + 0.2, 0.3), math.dist((0, 0), (3, 4)))
# %% datetime arithmetic, parsing and zones
from datetime import datetime, date, timedelta, timezone, time
from zoneinfo import ZoneInfo

d = datetime(2024, 3, 10, 1, 30, tzinfo=ZoneInfo("America/New_York"))
print(d, d + timedelta(hours=1), d.astimezone(timezone.utc), d.utcoffset(), d.tzname(), d.dst())
print(datetime.strptime("2024-02-29 13:05", "%Y-%m-%d %H:%M").strftime("%A %d %B %Y, %I:%M %p"))
print(
    datetime.fromisoformat("2024-01-05T10:00:00+02:00").timestamp(),
    date(2024, 2, 29).isocalendar(),
    date.fromisoformat("2024-12-31").timetuple().tm_yday,
)
print(
    (date(2024, 3, 1) - date(2024, 2, 1)).days,
    timedelta(days=1, seconds=3661),
    timedelta(hours=25) // timedelta(hours=1),
    timedelta(minutes=90).total_seconds(),
)
print(
    time(1, 2, 3).isoformat(),
    datetime.combine(date(2020, 1, 1), time(5)),
    date.today() >= date(2024, 1, 1),
    datetime.max,
)
print(
    ZoneInfo("Europe/Paris"),
    datetime(2024, 7, 1, tzinfo=ZoneInfo("Asia/Kolkata")).isoformat(),
    datetime(1970, 1, 1, tzinfo=timezone.utc).timestamp(),
)
try:
    date(2023, 2, 29)
except ValueError as e:
    print(e)
try:
    datetime.strptime("x", "%Y")
except ValueError as e:
    print(e)
try:
    ZoneInfo("No/Where")
except Exception as e:
    print(type(e).__name__, e)
try:
    datetime.now() - datetime.now(timezone.utc)
except TypeError as e:
    print(e)
# %% calendar of a month, business days
import calendar
from datetime import date, timedelta

print(calendar.month(2024, 2))
print(
    calendar.monthrange(2023, 2),
    calendar.isleap(2000),
    list(calendar.day_name)[:2],
    calendar.month_abbr[3],
)


def business_days(a, b):
    d = a
    while d <= b:
        if d.weekday() < 5:
            yield d
        d += timedelta(1)


print(len(list(business_days(date(2024, 1, 1), date(2024, 1, 31)))))
print(
    calendar.TextCalendar(calendar.SUNDAY).formatmonth(2024, 5).splitlines()[1],
    calendar.monthcalendar(2024, 9)[0],
)
# %% heap: top-k, merge and a priority queue
import heapq, itertools

h = []
for p, t in [(3, "c"), (1, "a"), (2, "b")]:
    heapq.heappush(h, (p, t))
print(
    [heapq.heappop(h) for _ in range(3)],
    heapq.nlargest(2, [5, 1, 9]),
    heapq.nsmallest(1, ["bb", "a"], key=len),
    list(heapq.merge([1, 4], [2, 3])),
)


class PQ:
    REMOVED = object()

    def __init__(self):
        self.h, self.e, self.c = [], {}, itertools.count()

    def add(self, task, pr=0):
        if task in self.e:
            self.e.pop(task)[-1] = self.REMOVED
        e = [pr, next(self.c), task]
        self.e[task] = e
        heapq.heappush(self.h, e)

    def pop(self):
        while self.h:
            pr, _, t = heapq.heappop(self.h)
            if t is not self.REMOVED:
                del self.e[t]
                return t
        raise KeyError("empty")


q = PQ()
q.add("x", 5)
q.add("y", 3)
q.add("x", 1)
print(q.pop(), q.pop())
try:
    q.pop()
except KeyError as e:
    print(e)
# %% bisect: grades and sorted insert
import bisect


def grade(s, b=[60, 70, 80, 90], g="FDCBA"):
    return g[bisect.bisect(b, s)]


print([grade(s) for s in [33, 99, 77, 70, 89]])
l = []
for x in [5, 1, 4]:
    bisect.insort(l, x)
print(
    l,
    bisect.bisect_left(l, 4),
    bisect.bisect_right(l, 4),
    bisect.bisect([("a", 1), ("b", 2)], "a", key=lambda t: t[0]),
)
# %% struct, array and bytes
import struct, array, binascii

p = struct.pack("<IHb4s", 7, 2, -1, b"ab")
print(p, struct.unpack("<IHb4s", p), struct.calcsize("<IHb4s"))
H = struct.Struct(">HH")
print(H.pack(1, 2).hex(" "), list(H.iter_unpack(b"\0\1\0\2\0\3\0\4")), H.size)
a = array.array("i", [1, 2, 3])
a.append(4)
a.extend([5])
print(a, a[1:3], a.tobytes()[:4], sum(a), a.itemsize, a.typecode)
print(
    int.from_bytes(b"\x01\x00", "big"),
    (258).to_bytes(2, "little"),
    bytes.fromhex("deadbeef"),
    binascii.crc32(b"hi"),
    bytes([65, 66]).decode(),
)
v = memoryview(bytearray(b"hello"))
v[0] = 72
print(bytes(v), v[1:3].tobytes())
try:
    struct.unpack("<I", b"ab")
except struct.error as e:
    print(e)
# %% sorting by several keys, stable, with cmp_to_key
from functools import cmp_to_key
from operator import itemgetter, attrgetter

people = [{"n": "Bo", "a": 30}, {"n": "Al", "a": 25}, {"n": "Cy", "a": 30}]
print(sorted(people, key=lambda p: (-p["a"], p["n"])), sorted(people, key=itemgetter("a", "n"))[0])
print(
    sorted("banana apple fig".split(), key=len, reverse=True),
    sorted([3, 1, 2], key=cmp_to_key(lambda a, b: b - a)),
)


class E:
    def __init__(s, n):
        s.n = n


print(
    [e.n for e in sorted([E(2), E(1)], key=attrgetter("n"))],
    min(people, key=itemgetter("n")),
    max([], default=None),
)
# %% matrix and nested comprehension
m = [[1, 2, 3], [4, 5, 6]]
print(
    [list(r) for r in zip(*m)],
    [x for r in m for x in r if x % 2],
    {i: {j: i * j for j in range(2)} for i in range(2)},
)
print(
    sum(sum(r) for r in m),
    any(6 in r for r in m),
    all(len(r) == 3 for r in m),
    [[0] * 2 for _ in range(2)],
)
first, *mid, last = range(6)
print(first, mid, last)
(a, b), c = (1, 2), 3
print(a, b, c)
print(*(f"{x:>4}" for x in m[0]), sep="", end="!\n")
print({**{"a": 1}, "b": 2} | {"c": 3}, [*range(3), *"ab"])
# %% inventory report with pprint and textwrap
import pprint, textwrap

d = {"warehouse": {"bolts": list(range(20)), "nuts": {"m3": 1.5, "m4": None}}, "name": "x" * 60}
pprint.pprint(d)
pprint.pprint(d, depth=1)
print(pprint.pformat([1, 2], width=3))
pprint.pp({"b": 1, "a": 2})
t = "The quick brown fox jumps over the lazy dog. " * 3
print(textwrap.fill(t, 30, initial_indent="* ", subsequent_indent="  "))
print(textwrap.shorten(t, 25), textwrap.indent("a\nb", "> "))
print(
    textwrap.dedent("""
    def f():
        pass
    """).strip()
)
# %% sqlite in memory: joins, rows, transactions
import sqlite3

con = sqlite3.connect(":memory:")
con.row_factory = sqlite3.Row
con.executescript(
    "create table a(id integer primary key, n text not null unique); create table b(a_id int references a(id), v real);"
)
with con:
    con.executemany("insert into a(n) values (?)", [("x",), ("y",)])
    con.executemany(
        "insert into b values (:a, :v)", [{"a": 1, "v": 1.5}, {"a": 1, "v": 2}, {"a": 2, "v": 5}]
    )
cur = con.execute(
    "select n, sum(v) as total, count(*) c from a join b on a.id = b.a_id group by n order by total desc"
)
print([d[0] for d in cur.description])
for r in cur:
    print(r["n"], r["total"], tuple(r), r.keys(), len(r))
try:
    with con:
        con.execute("insert into a(n) values ('z')")
        con.execute("insert into a(n) values ('x')")
except sqlite3.IntegrityError as e:
    print("IntegrityError", e)
print(con.execute("select count(*) from a").fetchone()[0], con.total_changes, con.in_transaction)
con.create_function("double", 1, lambda x: x * 2)
print(con.execute("select double(21)").fetchone()[0])
c = con.cursor()
c.execute("insert into a(n) values ('q')")
print(c.lastrowid, c.rowcount, c.fetchall())
try:
    con.execute("select * from nope")
except sqlite3.OperationalError as e:
    print(e)
con.commit()
print(len(list(con.execute('select sql from sqlite_master'))))
con.close()
try:
    con.execute("select 1")
except sqlite3.ProgrammingError as e:
    print(e)
# %% sqlite: window functions, CTE, json, upsert, fetchmany
import sqlite3, json, contextlib

with contextlib.closing(sqlite3.connect(":memory:")) as db:
    db.execute("CREATE TABLE s(day TEXT, amt INT)")
    db.executemany("INSERT INTO s VALUES(?,?)", [(f"d{i}", i * i) for i in range(5)])
    print(db.execute("SELECT day, amt, SUM(amt) OVER (ORDER BY day) FROM s").fetchmany(3))
    print(
        db.execute(
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x<5) SELECT group_concat(x) FROM c"
        ).fetchone()
    )
    print(db.execute("SELECT json_extract(?, '$.a[1]')", (json.dumps({"a": [1, 2]}),)).fetchone())
    db.execute("CREATE TABLE k(k TEXT PRIMARY KEY, v)")
    q = "INSERT INTO k VALUES('a', 1) ON CONFLICT(k) DO UPDATE SET v = v + 1"
    db.execute(q)
    db.execute(q)
    print(
        db.execute("SELECT * FROM k").fetchall(),
        db.execute("select date('2024-01-31','+1 month')").fetchone(),
    )

    class Med:
        def __init__(self):
            self.v = []

        def step(self, x):
            self.v.append(x)

        def finalize(self):
            return sorted(self.v)[len(self.v) // 2]

    db.create_aggregate("median", 1, Med)
    print(db.execute("select median(amt) from s").fetchone())
    db.row_factory = lambda c, r: {d[0]: v for d, v in zip(c.description, r)}
    print(db.execute("select * from s limit 1").fetchall())
    for (name,) in sqlite3.connect(":memory:").execute("select name from sqlite_master"):
        print(name)


# %% matching shapes of data
def handle(cmd):
    match cmd:
        case {"type": "move", "x": int(x), "y": int(y)} if x >= 0:
            return f"move {x},{y}"
        case {"type": "say", "text": str() as t, **rest}:
            return f"say {t} {rest}"
        case ["go", ("north" | "south") as d]:
            return d
        case [first, *others] if others:
            return f"{first}+{len(others)}"
        case int() | float() as n:
            return f"number {n}"
        case None | "":
            return "nothing"
        case _:
            return "?"


for c in [
    {"type": "move", "x": 1, "y": 2},
    {"type": "say", "text": "hi", "z": 1},
    ["go", "north"],
    [1, 2, 3],
    3.5,
    "",
    {},
    [1],
]:
    print(handle(c))
# %% topological sort and cycles
from graphlib import TopologicalSorter, CycleError

g = {"D": {"B", "C"}, "C": {"A"}, "B": {"A"}}
ts = TopologicalSorter(g)
ts.prepare()
order = []
while ts.is_active():
    ready = sorted(ts.get_ready())
    order.append(ready)
    ts.done(*ready)
print(order)
try:
    list(TopologicalSorter({"a": {"b"}, "b": {"a"}}).static_order())
except CycleError as e:
    print(e.args[0], e.args[1])
# %% hashing, base64, uuid5, hmac, secrets
import hashlib, base64, uuid, hmac, secrets

print(
    hashlib.sha256(b"abc").hexdigest()[:16],
    hashlib.new("md5", b"a").hexdigest(),
    hashlib.blake2b(b"x", digest_size=4).hexdigest(),
)
h = hashlib.sha1()
h.update(b"a")
h.update(b"b")
print(h.hexdigest(), h.name, h.digest_size)
print(
    base64.b64encode(b"hi there").decode(),
    base64.urlsafe_b64decode("aGk="),
    base64.b32encode(b"a"),
    base64.b85encode(b"abc"),
)
print(
    uuid.uuid5(uuid.NAMESPACE_DNS, "python.org"),
    uuid.UUID(int=5),
    len(str(uuid.uuid4())),
    uuid.UUID("12345678123456781234567812345678").version,
)
print(
    hmac.new(b"k", b"m", hashlib.sha256).hexdigest()[:8],
    hmac.compare_digest("a", "a"),
    len(secrets.token_hex(8)),
    hashlib.pbkdf2_hmac("sha256", b"p", b"s", 10).hex()[:8],
)
# %% random simulation with a seed
import random

rng = random.Random(42)
random.seed(7)
print(
    rng.randint(1, 6),
    rng.random(),
    rng.choice("abc"),
    rng.sample(range(100), 3),
    rng.gauss(0, 1),
    rng.choices("xy", weights=[1, 9], k=5),
)
l = list(range(5))
random.shuffle(l)
print(
    l, random.uniform(0, 1), random.randrange(0, 10, 2), random.triangular(), random.getrandbits(16)
)
inside = sum(rng.random() ** 2 + rng.random() ** 2 < 1 for _ in range(5000))
print(4 * inside / 5000)
state = rng.getstate()
a = rng.random()
rng.setstate(state)
print(a == rng.random(), random.betavariate(1, 2), rng.expovariate(2))


class Die:
    def __init__(self, sides, seed=None):
        self.sides, self._r = sides, random.Random(seed)

    def roll(self, n=1):
        return [self._r.randint(1, self.sides) for _ in range(n)]


print(Die(20, 1).roll(5))
