# %% log parsing with regular expressions
import re
from collections import Counter

log = """127.0.0.1 - - [10/Oct/2023:13:55:36] "GET /index.html HTTP/1.1" 200 2326
10.0.0.5 - - [10/Oct/2023:13:56:01] "POST /login HTTP/1.1" 401 12
bad line"""
pat = re.compile(
    r'(?P<ip>[\d.]+) \S+ \S+ \[(?P<ts>[^\]]+)\] "(?P<method>\w+) (?P<path>\S+)[^"]*" (?P<status>\d{3}) (?P<size>\d+)'
)
hits = Counter()
for i, line in enumerate(log.splitlines()):
    if m := pat.match(line):
        d = m.groupdict()
        hits[d["status"]] += 1
        print(d["ip"], m["path"], m.group(1, "size"), m.span("method"))
    else:
        print("no match:", i)
print(hits, pat.groups, pat.groupindex, pat.flags & re.U == re.U)
# %% substitutions with functions, lookarounds, verbose, split
import re

print(
    re.sub(r"(?<=[a-z])(?=[A-Z])", "_", "camelCaseString").lower(),
    re.sub(r"_(\w)", lambda m: m[1].upper(), "snake_case_here"),
)
print(
    re.split(r"[,;]\s*", "a, b;c"),
    re.findall(r"(\w+)@(\w+)\.com", "x@y.com, z@w.com"),
    re.subn("a", "b", "banana", count=2),
)
p = re.compile(
    r"""
    ^\s*(?P<key>\w+)  # key
    \s*=\s*(?P<val>.*?)\s*$""",
    re.X | re.M,
)
print(
    [m.groupdict() for m in p.finditer("a = 1\nb= two \n#")],
    re.escape("a.b*c"),
    re.fullmatch(r"\d+", "12a"),
)
print(
    repr(re.search("b+", "abbb")),
    re.compile("x", re.I),
    re.sub(r"(\w+) (\w+)", r"\2 \g<1>", "hello world"),
)
try:
    re.compile("(unclosed")
except re.error as e:
    print(e, e.pos, e.msg)
# %% word frequency and n-grams
import string, re
from collections import Counter

text = "It was the best of times, it was the worst of times; it was the age of wisdom..."
words = text.lower().translate(str.maketrans("", "", string.punctuation)).split()
for w, n in Counter(words).most_common(3):
    print(f"{w:>8} {'#' * n} {n / len(words):.1%}")
print(Counter(zip(words, words[1:])).most_common(2), {len(w) for w in words}, max(words, key=len))
# %% format specifications of every kind
import math

n, f, s = 1234567, 3.14159, "text"
print(f"{n:,} {n:_} {n:>12} {n:<12}| {n:^12} {n:012d} {n:x} {n:#b} {n:o} {n:e}")
print(
    f"{f:.2f} {f:8.3f} {f:+.1f} {f:%} {f:.3g} {f!r:>10} {-f: .2f} {1e20:g} {math.inf} {0.1 + 0.2}"
)
print(f"{s:*^10} {s!r} {s:.2} {s:>{10}} {'=' * 5} {{literal}} {n=} {f=:.1f} {s.upper()=}")
print(
    "{} {0}".replace("{0}", "x").format(1),
    "{0} {1} {0}".format("a", "b"),
    "{a:>5}{b}".format(a=1, b=2),
)
print("%s %d %5.2f %-5s| %05d %x %r %%" % ("a", 3, 2.5, "l", 42, 255, "q"), "%(k)s" % {"k": 1})
print(
    "{0[0]} {1[k]}".format([1], {"k": 2}),
    "{:>{w}}".format("r", w=4),
    format(255, "#06x"),
    format(0.5, ".0%"),
    str.format("{}", 1),
)


# %% str.format reading attributes
# ends: use an f-string
class P:
    def __init__(self):
        self.x = 1


print("{p.x}".format(p=P()))
# %% string methods agents reach for
s = "  Hello, World!  "
print(
    s.strip().partition(", "),
    "a-b-c".rpartition("-"),
    "x=1;y=2".split(";"),
    "Title case here".title(),
    "abc".center(9, "*"),
    "a\tb".expandtabs(4),
)
print(
    "hello".find("l"),
    "hello".rfind("l"),
    "hello".count("l"),
    "Hello".swapcase(),
    "ß".casefold(),
    "abc".zfill(5),
    "-7".zfill(4),
    "a,b".replace(",", ";"),
)
print(
    "abc".startswith(("x", "a")),
    "f.txt".removesuffix(".txt"),
    "prefix-x".removeprefix("prefix-"),
    "12".isdigit(),
    "½".isnumeric(),
    "a1".isalnum(),
    "x y".isidentifier(),
)
print(
    "a\nb\r\nc".splitlines(keepends=True),
    "|".join(map(str, range(3))),
    "abc"[::-1],
    "é".encode("utf-8"),
    b"\xff".decode("utf-8", "replace"),
    ord("A"),
    chr(8364),
    ascii("é"),
)
try:
    b"\xff".decode()
except UnicodeDecodeError as e:
    print(e, e.start, e.reason)
# %% tokenizer and recursive descent calculator
import re
from typing import NamedTuple, Iterator


class Token(NamedTuple):
    type: str
    value: str
    column: int


SPEC = [("NUM", r"\d+(\.\d*)?"), ("OP", r"[+\-*/^()]"), ("SKIP", r"\s+"), ("BAD", r".")]
RE = re.compile("|".join(f"(?P<{n}>{p})" for n, p in SPEC))


def tokens(s: str) -> Iterator[Token]:
    for m in RE.finditer(s):
        if m.lastgroup == "BAD":
            raise SyntaxError(f"unexpected {m.group()!r} at {m.start()}")
        if m.lastgroup != "SKIP":
            yield Token(m.lastgroup, m.group(), m.start())
    yield Token("END", "", len(s))


class Parser:
    def __init__(self, text):
        self._it = tokens(text)
        self._adv()

    def _adv(self):
        self.cur = next(self._it)

    def expr(self):
        v = self.term()
        while self.cur.value in ("+", "-"):
            op = self.cur.value
            self._adv()
            r = self.term()
            v = v + r if op == "+" else v - r
        return v

    def term(self):
        v = self.factor()
        while self.cur.value in ("*", "/"):
            op = self.cur.value
            self._adv()
            r = self.factor()
            v = v * r if op == "*" else v / r
        return v

    def factor(self):
        if self.cur.value == "-":
            self._adv()
            return -self.factor()
        if self.cur.value == "(":
            self._adv()
            v = self.expr()
            if self.cur.value != ")":
                raise SyntaxError("expected )")
            self._adv()
        elif self.cur.type == "NUM":
            v = float(self.cur.value)
            self._adv()
        else:
            raise SyntaxError(f"unexpected {self.cur}")
        if self.cur.value == "^":
            self._adv()
            v **= self.factor()
        return v


for e in ["1 + 2 * 3", "(1+2)*-3", "2^3^2", "1/0", "2 +", "2 $ 3"]:
    try:
        print(e, "=", Parser(e).expr())
    except (SyntaxError, ZeroDivisionError) as x:
        print(e, "->", type(x).__name__, x)
# %% html parser that extracts links and text
from html.parser import HTMLParser
import html


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.text, self._depth = [], [], 0

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.links.append(dict(attrs).get("href"))
        if tag == "script":
            self._depth += 1

    def handle_endtag(self, tag):
        if tag == "script":
            self._depth -= 1

    def handle_data(self, data):
        if data.strip() and not self._depth:
            self.text.append(data.strip())

    def handle_comment(self, data):
        self.text.append(f"[{data.strip()}]")


p = Links()
p.feed("<html><body><!-- c --><a href='/x'>One &amp; two</a><br/><script>x</script><p>end</body>")
p.close()
print(p.links, p.text, html.escape("<a b='c'>"), html.unescape("&lt;&eacute;&#39;"), p.getpos())
# %% xml: build, parse, find, serialise
import xml.etree.ElementTree as ET

root = ET.Element("library", version="1")
for t, y in [("A & B", "2001"), ("C", "1999")]:
    b = ET.SubElement(root, "book", {"year": y})
    ET.SubElement(b, "title").text = t
ET.indent(root)
s = ET.tostring(root, encoding="unicode")
print(s)
r = ET.fromstring(s)
print(
    [b.find("title").text for b in r.findall("./book[@year='1999']")],
    r.attrib,
    len(r),
    r[0].get("year"),
    r.findtext("book/title"),
)
for e in r.iter():
    print(e.tag, end=" ")
print()
ns = ET.fromstring('<x:a xmlns:x="u"><x:b>1</x:b></x:a>')
print(ns.find("x:b", {"x": "u"}).text, ns.tag)
try:
    ET.fromstring("<a><b></a>")
except ET.ParseError as e:
    print("ParseError", e, e.position)
import io

tree = ET.parse(io.StringIO("<r><i>1</i><i>2</i></r>"))
print(sum(int(i.text) for i in tree.getroot().iter("i")), ET.tostring(tree.getroot()))
for ev, el in ET.iterparse(io.BytesIO(b"<r><i>1</i></r>"), events=("start", "end")):
    print(ev, el.tag, end=";")
# %% minidom pretty printing
# ends: use `xml.etree.ElementTree`
from xml.dom import minidom

d = minidom.parseString("<a><b x='1'>t</b></a>")
print(
    d.toprettyxml(indent="  "),
    d.getElementsByTagName("b")[0].getAttribute("x"),
    d.documentElement.tagName,
)
# %% configparser: sections, interpolation, types
import configparser, io

c = configparser.ConfigParser(interpolation=configparser.ExtendedInterpolation())
c.read_string(
    "[DEFAULT]\nroot = /srv\n[web]\nport = 80\ndebug = yes\npath = ${root}/www\nlist = a,b\n[db]\nhost: ${web:port}\n"
)
print(
    c.sections(),
    c["web"]["path"],
    c.getint("web", "port"),
    c["web"].getboolean("debug"),
    c["db"]["host"],
    c.get("web", "none", fallback="?"),
)
c["new"] = {"a": "1"}
o = io.StringIO()
c.write(o)
print(o.getvalue().strip().splitlines()[-1], c.has_option("web", "port"), dict(c["new"]))
try:
    c.get("no", "x")
except configparser.NoSectionError as e:
    print(e)
# %% toml, shlex, fnmatch, difflib
import tomllib, shlex, fnmatch, difflib

t = tomllib.loads('title = "x"\n[owner]\ndob = 1979-05-27T07:32:00Z\n[[p]]\nn = 1\n[[p]]\nn = 2\n')
print(t)
try:
    tomllib.loads("a = ")
except tomllib.TOMLDecodeError as e:
    print(e)
print(
    shlex.split("ls -l 'my file' \"a b\""),
    shlex.quote("it's"),
    shlex.join(["a", "b c"]),
    fnmatch.filter(["a.py", "b.txt"], "*.py"),
)
print(
    "\n".join(
        difflib.unified_diff("a\nb\nc".split(), "a\nx\nc".split(), "old", "new", lineterm="")
    ),
    difflib.get_close_matches("appel", ["ape", "apple", "peach"]),
)
print(
    round(difflib.SequenceMatcher(None, "kitten", "sitting").ratio(), 3),
    [o for o in difflib.SequenceMatcher(a="abcd", b="acxd").get_opcodes() if o[0] != "equal"],
)
# %% template strings and safe substitution
from string import Template, ascii_lowercase, capwords

t = Template("Dear $name, you owe $$${amount}")
print(
    t.substitute(name="Al", amount=5),
    t.safe_substitute(name="Bo"),
    capwords("a bc"),
    ascii_lowercase[:3],
)
try:
    t.substitute(name="x")
except KeyError as e:
    print("missing", e)
# %% caesar, vigenere and run-length coding
from itertools import cycle, groupby


def caesar(s, k):
    return "".join(chr((ord(c) - 97 + k) % 26 + 97) if c.islower() else c for c in s)


def vig(s, key):
    return "".join(chr((ord(c) + ord(k) - 130) % 26 + 65) for c, k in zip(s, cycle(key)))


rle = lambda s: "".join(f"{len(list(g))}{k}" for k, g in groupby(s))
import re

unrle = lambda s: re.sub(r"(\d+)(\D)", lambda m: int(m[1]) * m[2], s)
print(
    caesar("hello, world", 3),
    caesar(caesar("abc", 5), -5),
    vig("ATTACK", "LEMON"),
    rle("aaabcc"),
    unrle("3a1b2c"),
)
print(
    "hello".translate({104: "J", "l": None} if False else str.maketrans("he", "HE", "l")),
    "abc".encode().hex(),
    [f"{b:08b}" for b in b"hi"],
)
# %% unicode: normalisation, categories, slugs
import unicodedata, re


def slug(t):
    return re.sub(
        r"[^a-z0-9]+",
        "-",
        unicodedata.normalize("NFKD", t).encode("ascii", "ignore").decode().lower(),
    ).strip("-")


print(
    slug("Crème Brûlée & Café!"),
    unicodedata.name("é"),
    unicodedata.category("A"),
    len(unicodedata.normalize("NFD", "é")),
    "ﬁ".upper(),
    "İ".lower(),
)
print(
    "naïve".isascii(),
    "日本".encode("utf-16-le"),
    "\N{BULLET}",
    r"\n",
    "ab",
    b"a\x00".hex(),
    "🎉"[0],
    len("👨‍👩‍👧"),
)
# %% urls and query strings
from urllib.parse import (
    urlparse,
    parse_qs,
    urlencode,
    urljoin,
    quote,
    unquote,
    urlunparse,
    urlsplit,
)

u = urlparse("https://user:pw@ex.com:8080/p/a;x?q=1&q=2&r=%20#frag")
print(u.netloc, u.hostname, u.port, u.username, parse_qs(u.query), u._replace(query="").geturl(), u)
print(
    urlencode({"a": "x y", "b": [1, 2]}, doseq=True),
    urljoin("http://a/b/c", "../d"),
    quote("a/b c"),
    unquote("%E2%82%AC"),
    urlsplit("//x/y").path,
)
# %% ast literal_eval and walking code
import ast

print(ast.literal_eval("{'a': [1, (2, 3)], 'b': None}"), ast.literal_eval("-1.5"))
for bad in ("__import__('os')", "1 +"):
    try:
        ast.literal_eval(bad)
    except (ValueError, SyntaxError) as e:
        print(type(e).__name__)
tree = ast.parse("import os\ndef f(a, b=1):\n    return a + g(b)\nclass C: pass")
print(
    [type(n).__name__ for n in tree.body], [n.id for n in ast.walk(tree) if isinstance(n, ast.Name)]
)


class V(ast.NodeVisitor):
    def visit_Call(self, n):
        print("call", ast.unparse(n))
        self.generic_visit(n)

    def visit_FunctionDef(self, n):
        print("def", n.name, [a.arg for a in n.args.args], n.lineno)
        self.generic_visit(n)


V().visit(tree)
print(ast.dump(ast.parse("x+1", mode="eval")))
# %% a safe expression evaluator on ast
import ast, operator as op

OPS = {
    ast.Add: op.add,
    ast.Sub: op.sub,
    ast.Mult: op.mul,
    ast.Div: op.truediv,
    ast.Pow: op.pow,
    ast.USub: op.neg,
}


def ev(n):
    match n:
        case ast.Expression(body):
            return ev(body)
        case ast.Constant(v) if isinstance(v, (int, float)):
            return v
        case ast.BinOp(l, o, r):
            return OPS[type(o)](ev(l), ev(r))
        case ast.UnaryOp(o, v):
            return OPS[type(o)](ev(v))
        case _:
            raise ValueError(f"unsupported: {type(n).__name__}")


for e in ["2+3*4", "-(2**3)/4", "abs(1)"]:
    try:
        print(e, ev(ast.parse(e, mode="eval")))
    except ValueError as x:
        print(e, x)
# %% markdown table and ascii chart
rows = [("Name", "Qty", "Price"), ("Apple", 3, 1.25), ("Watermelon", 10, 12.5)]
w = [max(len(str(r[i])) for r in rows) for i in range(3)]
for i, r in enumerate(rows):
    print(
        "| "
        + " | ".join(
            str(c).ljust(n) if j == 0 else str(c).rjust(n) for j, (c, n) in enumerate(zip(r, w))
        )
        + " |"
    )
    if not i:
        print("|" + "|".join("-" * (n + 2) for n in w) + "|")
for k, v in {"a": 3, "bb": 7}.items():
    print(f"{k:>3} {'█' * v}{'░' * (10 - v)} {v:3d}")
# %% palindromes, anagrams, edit distance, lcs
from functools import lru_cache
from collections import defaultdict


def dist(a, b):
    @lru_cache(maxsize=None)
    def d(i, j):
        if not i or not j:
            return i + j
        return min(d(i - 1, j) + 1, d(i, j - 1) + 1, d(i - 1, j - 1) + (a[i - 1] != b[j - 1]))

    r = d(len(a), len(b))
    print(d.cache_info())
    return r


print(dist("kitten", "sitting"))
g = defaultdict(list)
for w in "eat tea tan ate nat bat".split():
    g["".join(sorted(w))].append(w)
print(dict(g), [w for w in ("level", "abc") if w == w[::-1]])
# %% email building
# ends: a policy can grant it: "modules": ["email"]
from email.message import EmailMessage

m = EmailMessage()
m["Subject"] = "Hi"
m["To"] = "a@b.c"
m.set_content("body\n")
print(m.as_string())
# %% locale, gettext and codecs
# ends: use `str.encode` and `bytes.decode`
import codecs

print(
    codecs.encode("hello", "rot13"),
    codecs.decode(b"68656c6c6f", "hex"),
    codecs.BOM_UTF8,
    codecs.lookup("utf8").name,
)
# %% textual number conversions
print(
    int("0x1f", 16),
    int("1010", 2),
    int("z", 36),
    int(" 42 "),
    float("1e-3"),
    complex("1+2j"),
    bin(10),
    oct(8),
    hex(255),
    round(2.5),
    round(-1.55, 1),
    divmod(-7, 3),
    -7 // 2,
    7 % -3,
)
for t in ("4.5", "", "x1"):
    try:
        int(t)
    except ValueError as e:
        print(e)
print(
    (1.5).as_integer_ratio(),
    (255).bit_length(),
    (6).bit_count(),
    float.fromhex("0x1p-2"),
    (0.1).hex(),
    10**20,
    1_000,
    sum([0.1] * 10),
    1e308 * 10,
    float("nan") == float("nan"),
)
