# %% argparse main with subcommands
import argparse, sys


def build():
    p = argparse.ArgumentParser(prog="tool", description="A tool.")
    p.add_argument("-v", "--verbose", action="count", default=0, help="more output")
    sub = p.add_subparsers(dest="cmd", required=True)
    a = sub.add_parser("add", help="add numbers")
    a.add_argument("n", type=int, nargs="+")
    a.add_argument("--scale", type=float, default=1.0)
    l = sub.add_parser("list")
    l.add_argument("--kind", choices=["a", "b"], default="a")
    return p


def main(argv=None):
    a = build().parse_args(argv)
    if a.cmd == "add":
        print(sum(a.n) * a.scale, a.verbose)
    else:
        print(a)
    return 0


if __name__ == "__main__":
    main(["-vv", "add", "1", "2", "--scale", "2"])
    main(["list", "--kind", "b"])
    build().print_help()
    try:
        main(["list", "--kind", "z"])
    except SystemExit as e:
        print("exit", e.code)
# %% argparse of sys.argv without arguments
import argparse

p = argparse.ArgumentParser()
p.add_argument("--n", type=int, default=3)
p.add_argument("--name", default="world")
args = p.parse_args()
print(args.n, args.name, vars(args))
# %% logging set-up with a formatter and several loggers
import logging, sys

logging.basicConfig(
    level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s", stream=sys.stdout
)
log = logging.getLogger(__name__)
db = logging.getLogger("app.db")
log.info("start %s %d", "x", 3)
db.debug("no")
db.warning("slow: %.2f", 1.5)
try:
    1 / 0
except ZeroDivisionError:
    log.error("failed", exc_info=False)
h = logging.StreamHandler(sys.stdout)
h.setFormatter(logging.Formatter("[%(asctime)s] %(message)s", "%Y"))
l2 = logging.getLogger("own")
l2.addHandler(h)
l2.propagate = False
l2.setLevel("DEBUG")
l2.debug("hi")
print(
    l2.getEffectiveLevel(),
    logging.getLevelName(20),
    l2.isEnabledFor(10),
    l2.handlers == [h],
    db.parent.name,
)


class F(logging.Filter):
    def filter(self, r):
        return "secret" not in r.getMessage()


h.addFilter(F())
l2.info("a secret")
l2.info("fine", extra={"user": "u"})
# %% logging.exception prints a traceback
import logging, sys

logging.basicConfig(stream=sys.stdout, format="%(message)s")


def f():
    return int("k")


try:
    f()
except (KeyError, ValueError):
    logging.exception("oops")
logging.getLogger("x").critical("end", stack_info=False)
# %% logging to stderr by default
import logging

logging.warning("careful %s", "x")
logging.info("not shown")
logging.getLogger("a.b").error("plain")
# %% logging.config.dictConfig
# ends: use `logging.basicConfig`
import logging, logging.config

logging.config.dictConfig(
    {
        "version": 1,
        "formatters": {"f": {"format": "%(levelname)s %(message)s"}},
        "handlers": {
            "c": {"class": "logging.StreamHandler", "formatter": "f", "stream": "ext://sys.stdout"}
        },
        "root": {"level": "INFO", "handlers": ["c"]},
    }
)
logging.info("configured")
# %% logging.handlers with a memory handler
# ends: use `logging.StreamHandler`
import logging
from logging.handlers import RotatingFileHandler

h = RotatingFileHandler("app.log", maxBytes=1000)
logging.getLogger().addHandler(h)
print("added")
# %% logging handler of one's own that keeps records
import logging


class Keep(logging.Handler):
    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(self.format(record))


k = Keep()
k.setFormatter(logging.Formatter("{levelname}|{message}|{lineno}", style="{"))
l = logging.getLogger("k")
l.addHandler(k)
l.setLevel(logging.DEBUG)
l.propagate = False
l.info("one")
l.log(25, "two")
logging.addLevelName(25, "NOTICE")
l.log(25, "three")
print(k.records)
a = logging.LoggerAdapter(l, {"rid": 7})
a.info("adapted")
print(k.records[-1], l.hasHandlers(), l)
# %% unittest with setUp, subTest and a failure
import unittest, io


def add(a, b):
    return a + b


class TestAdd(unittest.TestCase):
    def setUp(self):
        self.n = 2

    def test_ok(self):
        self.assertEqual(add(self.n, 2), 4)
        self.assertAlmostEqual(0.1 + 0.2, 0.3)
        self.assertIn(1, [1])
        self.assertIsNone(None)

    def test_raises(self):
        with self.assertRaises(TypeError) as cm:
            add(1, "a")
        self.assertIn("unsupported", str(cm.exception))
        with self.assertRaisesRegex(ValueError, "invalid literal"):
            int("x")

    def test_sub(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertLess(i, 5)

    @unittest.skip("later")
    def test_skip(self):
        self.fail()

    def test_fail(self):
        self.assertEqual([1, 2], [1, 3])


suite = unittest.defaultTestLoader.loadTestsFromTestCase(TestAdd)
r = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
print(
    r.testsRun,
    len(r.failures),
    len(r.errors),
    len(r.skipped),
    r.wasSuccessful(),
    r.failures[0][1].splitlines()[0] if r.failures else "",
    [str(t) for t, _ in r.skipped],
)
# %% unittest.main with argv and exit=False
import unittest


class T(unittest.TestCase):
    def test_a(self):
        self.assertTrue(True)


if __name__ == "__main__":
    p = unittest.main(argv=["x"], exit=False, verbosity=0)
    print(p.result.wasSuccessful())
# %% unittest.mock
# ends: write a class or a function of your own
from unittest.mock import Mock, patch, MagicMock

m = Mock(return_value=3)
print(m(1, a=2))
m.assert_called_once_with(1, a=2)
m.side_effect = ValueError("no")
try:
    m()
except ValueError as e:
    print(e)
print(m.call_count, m.call_args_list)
# %% doctest
# ends: use `unittest` or `assert`
import doctest


def f(x):
    """
    >>> f(2)
    4
    """
    return x * 2


print(doctest.testmod())


# %% pytest style assertions
def test_a():
    assert 1 + 1 == 2


def test_b():
    assert "a" in "abc", "missing"


def test_c():
    assert 1 == 2, "math is broken"


for n, t in list(globals().items()):
    if n.startswith("test_"):
        try:
            t()
            print("PASS", n)
        except AssertionError as e:
            print("FAIL", n, e)
# %% sys: version, argv, exit in a function, stdout write
import sys

print(
    sys.version_info >= (3, 8),
    len(sys.argv),
    sys.platform,
    sys.maxsize > 2**32,
    sys.byteorder,
    sys.getrecursionlimit() > 100,
)
n = sys.stdout.write("written\n")
sys.stdout.flush()
print(n)
print("to stderr", file=sys.stderr)
print(
    sys.getsizeof([]) > 0,
    sys.float_info.epsilon,
)


def main():
    return 0


sys.exit(main())
# %% sys.exit with a message
import sys

print("before")
sys.exit("something failed")
# %% sys.exit with a code inside try/finally
import sys

try:
    sys.exit(3)
except SystemExit as e:
    print("code", e.code)
finally:
    print("finally")
try:
    raise SystemExit
finally:
    print("bye")
# %% exit()
print("a")
exit()
print("b")
# %% redirecting stdout by hand
import sys, io

old = sys.stdout
sys.stdout = buf = io.StringIO()
try:
    print("captured")
    pass
finally:
    sys.stdout = old
print("got", repr(buf.getvalue()))


class Tee:
    def __init__(self, *s):
        self.s = s

    def write(self, t):
        [x.write(t) for x in self.s]

    def flush(self):
        pass


b = io.StringIO()
sys.stdout = Tee(sys.__stdout__ if False else old, b)
print("both")
sys.stdout = old
print(b.getvalue(), end="")
# %% reading stdin line by line
# ends: the caller can give values as `inputs`
import sys

for line in sys.stdin:
    print("line", line)
print("done", repr(sys.stdin.read()))
# %% input() in a loop
# ends: the caller can give values as `inputs`
try:
    name = input("Name? ")
    print("hi", name)
except EOFError:
    print("no input")
# %% os.environ with defaults
import os

print(
    os.environ.get("NO_SUCH_VARIABLE", "default"),
    os.getenv("NO_SUCH", "d2"),
    "NO_SUCH" in os.environ,
)
os.environ["MINE"] = "1"
print(os.environ["MINE"], os.getenv("MINE"))
try:
    os.environ["NO_SUCH"]
except KeyError as e:
    print("KeyError", e)
# %% os.path operations
import os

p = os.path.join("/a", "b", "c.tar.gz")
print(
    p,
    os.path.split(p),
    os.path.splitext(p),
    os.path.basename(p),
    os.path.dirname(p),
    os.path.normpath("a/../b/./c"),
    os.path.isabs(p),
)
print(
    os.path.commonpath(["/a/b", "/a/c"]),
    os.path.relpath("/a/b", "/a/c"),
    os.sep,
    os.linesep == "\n",
)
# %% pathlib pure operations
# ends: a policy may grant `caps.files.read` instead
from pathlib import Path, PurePosixPath

p = Path("/data") / "in" / "file.csv"
print(
    p,
    p.name,
    p.stem,
    p.suffix,
    p.parent,
    p.parts,
    p.with_suffix(".json"),
    p.with_name("x"),
    p.is_absolute(),
    p.relative_to("/data"),
    [str(x) for x in p.parents],
)
print(
    repr(p),
    p == Path("/data/in/file.csv"),
    p.match("*.csv"),
    str(p),
    p.as_posix(),
    Path("a", "b").joinpath("c"),
    p.suffixes,
    PurePosixPath("x").suffix,
)
# %% pathlib existence and reading
# ends: a policy may grant `caps.files.read` instead
from pathlib import Path

p = Path("config.json")
if p.exists():
    print("there")
else:
    print("using defaults")
try:
    print(p.read_text())
except FileNotFoundError:
    print("not found")


# %% open for reading with a FileNotFoundError fallback
# ends: a policy may grant `caps.files.read` instead
def load(path):
    try:
        with open(path) as f:
            return f.read()
    except FileNotFoundError:
        return "default"


print(load("/no/such/file.txt"))
# %% writing and reading a temporary file
# ends: a policy may grant `caps.files.write` instead
import tempfile, os

with tempfile.TemporaryDirectory() as d:
    path = os.path.join(d, "a.txt")
    with open(path, "w") as f:
        f.write("hello\nworld\n")
    with open(path) as f:
        print(f.readlines())
# %% open a file and write
# ends: a policy may grant `caps.files.write` instead
with open("out.txt", "w") as f:
    f.write("x")
print("written")
# %% StringIO and BytesIO as files
import io

f = io.StringIO("line 1\nline 2\n\nline 4")
print([l.rstrip() for l in f], f.tell())
f.seek(0)
print(f.readline(), f.readlines(1), f.read(3))
b = io.BytesIO()
b.write(b"abc")
b.seek(0, 2)
print(b.tell(), b.getvalue(), b.getbuffer().nbytes, b.closed)
with io.StringIO() as s:
    print("a", "b", sep="-", end="|", file=s)
    print(s.getvalue())
w = io.TextIOWrapper(io.BytesIO(b"x\r\ny"), encoding="utf-8", newline=None)
print(w.read().split("\n"))
try:
    s.write("x")
except ValueError as e:
    print(e)
# %% gzip, zlib, bz2, lzma round trips
# ends: use `zlib` or `gzip`
import gzip, zlib, io, bz2, lzma

data = b"hello " * 100
for m in (gzip, zlib, bz2, lzma):
    c = m.compress(data)
    print(m.__name__, len(c) < 100, m.decompress(c) == data)
buf = io.BytesIO()
with gzip.GzipFile(fileobj=buf, mode="wb") as f:
    f.write(data)
buf.seek(0)
with gzip.open(buf, "rt") as f:
    print(f.read(5))
# %% zip in memory
import zipfile, io, json

b = io.BytesIO()
with zipfile.ZipFile(b, "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("a/data.json", json.dumps({"x": 1}))
    z.writestr("b.txt", "text")
with zipfile.ZipFile(b) as z:
    print(
        z.namelist(), json.loads(z.read("a/data.json")), z.getinfo("b.txt").file_size, z.testzip()
    )
    with z.open("b.txt") as f:
        print(f.read())
    try:
        z.read("nope")
    except KeyError as e:
        print(e)
print(zipfile.is_zipfile(io.BytesIO(b"no")))
try:
    zipfile.ZipFile(io.BytesIO(b"bad"))
except zipfile.BadZipFile as e:
    print(e)
# %% tarfile in memory
# ends: use `zipfile`
import tarfile, io

b = io.BytesIO()
with tarfile.open(fileobj=b, mode="w:gz") as t:
    i = tarfile.TarInfo("a.txt")
    i.size = 2
    t.addfile(i, io.BytesIO(b"hi"))
b.seek(0)
with tarfile.open(fileobj=b) as t:
    print(t.getnames(), t.extractfile("a.txt").read())
# %% pickle
# ends: use `json`
import pickle

print(pickle.loads(pickle.dumps({"a": [1, 2]})))
# %% subprocess
# ends: there are no other processes here
import subprocess

r = subprocess.run(["echo", "hi"], capture_output=True, text=True)
print(r.stdout)
# %% os.system
# ends: there are no other processes here
import os

os.system("ls")
# %% shutil and glob
# ends: a policy may grant `caps.files.list` instead
import glob, shutil

print(glob.glob("*.nothing"))
# %% traceback: format_exc, print_exc, extract_tb
import traceback, sys


def inner():
    raise ValueError("deep")


def outer():
    try:
        inner()
    except ValueError as e:
        raise RuntimeError("wrapped") from e


try:
    outer()
except RuntimeError as e:
    print(traceback.format_exc())
    print(
        repr(e.__cause__),
        [f.name for f in traceback.extract_tb(e.__traceback__)],
        traceback.format_exception_only(type(e), e),
    )
    et, ev, tb = sys.exc_info()
    print(et.__name__, ev, tb is e.__traceback__)
    traceback.print_exc(file=sys.stdout)
    print(
        "".join(traceback.format_exception(e)).count("  File "),
        traceback.extract_tb(tb)[-1].lineno,
        traceback.extract_tb(tb)[-1].line,
    )


# %% custom exception hierarchy with chaining, notes and finally
class AppError(Exception):
    code = 500

    def __init__(self, msg, *, detail=None):
        super().__init__(msg)
        self.detail = detail

    def __str__(self):
        return f"[{self.code}] {super().__str__()}" + (f" ({self.detail})" if self.detail else "")


class NotFound(AppError):
    code = 404


def find(d, k):
    try:
        return d[k]
    except KeyError as e:
        raise NotFound(f"no {k}", detail="d") from e
    finally:
        print("looked")


try:
    find({}, "a")
except AppError as e:
    e.add_note("note")
    print(e, type(e.__cause__).__name__, e.__notes__, e.args, repr(e))
try:
    try:
        1 / 0
    except ZeroDivisionError:
        raise KeyError("x") from None
except KeyError as e:
    print(e.__context__.__class__.__name__, e.__suppress_context__)


def f():
    for i in range(3):
        try:
            if i == 1:
                continue
            return i
        finally:
            print("fin", i)
    else:
        print("else")


print(f())


# %% an uncaught error of one's own ends the program
class ConfigError(Exception):
    pass


print("start")
raise ConfigError("missing key `x`")
# %% inspect: signature, source, members
import inspect


def f(a, b: int = 2, *args, c, d=None, **kw) -> str:
    "Doc."


s = inspect.signature(f)
for n, p in s.parameters.items():
    print(n, p.kind.name, p.default is inspect.Parameter.empty, p.annotation is int)
b = s.bind(1, c=3)
b.apply_defaults()
print(b.arguments, s.return_annotation, inspect.getdoc(f), inspect.isfunction(f), s)


class C:
    def m(self):
        pass

    @staticmethod
    def s():
        pass


print(
    [n for n, _ in inspect.getmembers(C, inspect.isfunction)],
    inspect.isclass(C),
    inspect.ismethod(C().m),
)
# %% inspect.getsource and currentframe
# ends: `inspect.signature` shows its head
import inspect


def f():
    return 1


print(inspect.getsource(f))
# %% warnings
import warnings


def old():
    warnings.warn("use new()", DeprecationWarning, stacklevel=2)
    return 1


with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    old()
    print(len(w), w[0].category.__name__, w[0].message)
warnings.filterwarnings("error", category=UserWarning)
try:
    warnings.warn("bad")
except UserWarning as e:
    print("raised", e)
# %% time measurement
import time, timeit

t = time.perf_counter()
time.sleep(0.01)
e = time.perf_counter() - t
print(
    0.009 < e < 5,
    time.time() > 1.6e9,
    time.strftime("%Y", time.gmtime(0)),
    timeit.timeit("sum(range(10))", number=10) < 5,
    time.monotonic() > 0,
)
print(
    timeit.timeit(lambda: 1, number=5) >= 0,
    time.struct_time((2024, 1, 2, 3, 4, 5, 1, 2, 0)).tm_year,
    time.mktime(time.gmtime(0)) == 0 or True,
    type(time.time_ns()).__name__,
)
# %% ipaddress, platform and socket names
import ipaddress

n = ipaddress.ip_network("192.168.0.0/29")
print(
    n.num_addresses,
    [str(h) for h in n.hosts()][:2],
    ipaddress.ip_address("10.0.0.1").is_private,
    ipaddress.ip_address("::1").exploded,
    ipaddress.ip_address("10.0.0.5") in ipaddress.ip_network("10.0.0.0/8"),
)
try:
    ipaddress.ip_address("300.1.1.1")
except ValueError as e:
    print(e)
# %% platform
# ends: use `sys.platform`
import platform

print(platform.python_version().count(".") == 2, platform.system())
# %% getpass, locale, ctypes
# ends: `ctypes` cannot be imported here
import ctypes

print(ctypes.sizeof(ctypes.c_int))
# %% requests
# ends: there is no network here
import requests

r = requests.get("https://example.com")
print(r.status_code)
# %% urllib.request
# ends: there is no network here
from urllib.request import urlopen

print(urlopen("http://example.com").read())
# %% signal and atexit
# ends: use `try` and `finally`
import atexit

atexit.register(print, "bye")
print("end")
# %% importlib and dynamic import
# ends: write `import` and the name of the module
import importlib

m = importlib.import_module("math")
print(m.sqrt(4))
# %% try import with a fallback
try:
    import ujson as json
except ImportError:
    import json
try:
    import numpy as np

    HAS = True
except ImportError:
    HAS = False
try:
    from yaml import safe_load
except ModuleNotFoundError as e:
    safe_load = None
print(json.dumps({"a": 1}))
# %% globals, locals, vars, dir, callable, id
x = 1


def f():
    y = 2
    return locals()


print(
    f(),
    "x" in globals(),
    callable(f),
    id(x) == id(x),
    [n for n in dir([]) if n.startswith("app")],
    vars(type("C", (), {})) if False else "",
    isinstance(f, object),
)
# %% eval and exec of text
ns = {"a": 2}
print(eval("a + 1", ns), eval("x * y", {}, {"x": 2, "y": 3}))
exec("def g(n): return n * k", d := {"k": 5})
print(d["g"](4))
exec("z = 10")
print(z)
code = "for i in range(2): print('loop', i)"
exec(code)
try:
    eval("1 +")
except SyntaxError as e:
    print("SyntaxError")
# %% compile a code object
# ends: text is run with `exec` or `eval`
c = compile("1 + 1", "<s>", "eval")
print(eval(c))
# %% memory and recursion limits
import sys


def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)


print(depth(500))
sys.setrecursionlimit(3000)
print(depth(2000))
try:

    def inf():
        return inf()

    inf()
except RecursionError as e:
    print("RecursionError", str(e)[:32])
# %% status codes and methods of HTTP
import http
from http import HTTPMethod, HTTPStatus

print(HTTPStatus.OK, HTTPStatus(404).phrase, http.HTTPStatus.NOT_FOUND.value, repr(HTTPStatus.OK))
print(HTTPStatus.OK == 200, f"{HTTPStatus.CREATED}", len(list(HTTPStatus)), HTTPStatus["OK"])
print(HTTPMethod.POST == "POST", repr(HTTPMethod.GET), HTTPMethod.PATCH.description)
print({status.value: status.phrase for status in HTTPStatus if 500 <= status < 600})
try:
    HTTPStatus(999)
except ValueError as error:
    print(error)
# %% http.client
# ends: there is no network here
from http import client
# %% the parameters of functions by getfullargspec
import inspect


def full(a, b=2, *args, c: int, d=4, **kw) -> str: ...
def strict(a, /, b, *, c=None): ...


class Shape:
    def __init__(self, x: int, y=3): ...
    def move(self, z): ...
    @classmethod
    def make(cls, z): ...
    @staticmethod
    def area(z): ...


for one in (full, strict, Shape, Shape.move, Shape(1).move, Shape.make, Shape.area, lambda: 0):
    print(inspect.getfullargspec(one))
print(inspect.getfullargspec(full).kwonlydefaults)
# %% which interpreter it is
import sys

print(sys.implementation.name, sys.implementation.cache_tag)
print(sys.implementation.version == sys.version_info, sys.implementation.hexversion == sys.hexversion)
# %% the report of a test runner
import io
import re
import unittest


class Cases(unittest.TestCase):
    def test_a(self):
        "What it does."
        self.assertEqual(1, 2)

    def test_b(self): ...

    @unittest.expectedFailure
    def test_c(self): ...

    @unittest.expectedFailure
    def test_d(self):
        self.fail("x")

    @unittest.skip("later")
    def test_e(self): ...

    def test_f(self):
        """
        On the next line."""
        for number in range(3):
            with self.subTest(number=number):
                self.assertEqual(number % 2, 0)


for verbosity in (0, 1, 2):
    out = io.StringIO()
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(Cases)
    result = unittest.TextTestRunner(stream=out, verbosity=verbosity).run(tests)
    print(re.sub(r"in [\d.]+s", "in 0s", out.getvalue()), result, result.failures[0][1])
# %% os.rename
# ends: a policy may grant `caps.files.move` instead
import os

os.rename("a", "b")
# %% ctypes
# ends: no library of the system can be loaded here; use `struct` or `array`
import ctypes
