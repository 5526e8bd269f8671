"""Small programs that use every name of every facade, for comparing user space with plain Python.

Each is run twice, in user space and by the interpreter itself; the value of its last expression
must be the same. A program that draws on chance or on the clock tells only what is certain.
"""

# ruff: noqa: E501 - a program reads better in few lines than in short ones
from __future__ import annotations

from support.facade_samples_of_formats import FORMAT_SAMPLES
from support.facade_samples_of_types import TYPE_SAMPLES
from support.facade_samples_of_versions import with_newer_samples

DATA_SAMPLES: dict[str, list[str]] = {
    "array": [
        "import array\na = array.array('i', [3, 1, 2]); a.append(4); a.extend([5]); a[0] = 9\n"
        "[a, a[1], a[1:3], len(a), list(a), 4 in a, a.tolist(), a.tobytes(), a.itemsize]",
        "import array\na = array.array('d', (1, 2.5)); a += array.array('d', [1.0]); a.insert(0, 7)\n"
        "del a[1]\n[a, a * 2, a + a, a == array.array('d', a), a.pop(), a.index(2.5), a.typecode]",
        "import array\na = array.array('b', b'abc'); a.reverse(); a.remove(97); a.frombytes(b'z')\n"
        "a[0:2] = array.array('b', [1])\n[a, a.count(1), bytes(a), array.typecodes]",
        "import array, copy\na = array.array('q', [1]); b = copy.copy(a); c = copy.deepcopy(a)\n"
        "b[0] = 2\n[a, b, c, a < b, sum(b), max(b)]",
    ],
    "base64": [
        "import base64 as b\n[d(e(b'text!')) for d, e in ((b.a85decode, b.a85encode),"
        "(b.b16decode, b.b16encode), (b.b32decode, b.b32encode), (b.b32hexdecode, b.b32hexencode),"
        "(b.b64decode, b.b64encode), (b.b85decode, b.b85encode), (b.decodebytes, b.encodebytes),"
        "(b.standard_b64decode, b.standard_b64encode),"
        "(b.urlsafe_b64decode, b.urlsafe_b64encode))]",
    ],
    "binascii": [
        "import binascii as b\n[b.hexlify(b'ab'), b.unhexlify('6162'), b.a2b_hex('61'),"
        "b.b2a_hex(b'a'), b.a2b_base64('YQ=='), b.b2a_base64(b'a'), b.b2a_qp(b'='),"
        "b.a2b_qp(b'=3D'), b.crc32(b'a'), b.crc_hqx(b'a', 0), b.Error, b.Incomplete]",
    ],
    "bisect": [
        "import bisect as b\nx = [1, 3]\nb.insort(x, 2), b.insort_left(x, 2), b.insort_right(x, 0)\n"
        "[x, b.bisect(x, 2), b.bisect_left(x, 2), b.bisect_right(x, 2)]",
    ],
    "calendar": [
        "import calendar as c\n[c.isleap(2024), c.leapdays(2000, 2024), c.monthrange(2024, 2),"
        "c.weekday(2024, 2, 29), c.monthcalendar(2024, 2), c.month(2024, 2), c.timegm((2024, 1, 1, "
        "0, 0, 0)), c.weekheader(3), c.firstweekday(), list(c.month_name), list(c.month_abbr),"
        "list(c.day_name), list(c.day_abbr), len(c.calendar(2024)), c.setfirstweekday(0)]",
        "import calendar as c\n[c.MONDAY, c.TUESDAY, c.WEDNESDAY, c.THURSDAY, c.FRIDAY, c.SATURDAY,"
        "c.SUNDAY, c.IllegalMonthError, c.IllegalWeekdayError]",
        "import calendar as c\n[c.TextCalendar(6).formatmonth(2024, 2),"
        "c.HTMLCalendar().formatmonth(2024, 2), list(c.Calendar().itermonthdays(2024, 2))]",
        "import calendar as c, contextlib, io\n[callable(c.prcal), callable(c.prmonth)]",
    ],
    "cmath": [
        "import cmath as c\n[round(abs(f(0.3 + 0.2j)), 9) for f in (c.acos, c.acosh, c.asin, c.asinh,"
        "c.atan, c.atanh, c.cos, c.cosh, c.exp, c.log, c.log10, c.sin, c.sinh, c.sqrt, c.tan,"
        "c.tanh, c.phase)]",
        "import cmath as c\n[c.polar(1j), c.rect(1, 0), c.isclose(1, 1), c.isfinite(1), c.isinf(1),"
        "c.isnan(1), c.e, c.pi, c.tau, c.inf, c.infj, c.nan, c.nanj]",
    ],
    "colorsys": [
        "import colorsys as c\n[f(0.2, 0.4, 0.4) for f in (c.rgb_to_hls, c.hls_to_rgb,"
        "c.rgb_to_hsv, c.hsv_to_rgb, c.rgb_to_yiq, c.yiq_to_rgb)]",
    ],
    "csv": [
        "import csv, io\nb = io.StringIO(); w = csv.writer(b, quoting=csv.QUOTE_ALL)\n"
        "w.writerow([1, 'a,b']); w.writerows([[2, 'c']])\n"
        "[b.getvalue(), list(csv.reader(io.StringIO(b.getvalue()))), list(csv.reader(['a;b'], "
        "delimiter=';'))]",
        "import csv, io\nb = io.StringIO(); w = csv.DictWriter(b, ['x', 'y'], lineterminator='\\n')\n"
        "w.writeheader(); w.writerow({'x': 1, 'y': 'é'})\n"
        "[b.getvalue(), list(csv.DictReader(io.StringIO(b.getvalue())))]",
        "import csv\ncsv.register_dialect('mine', delimiter='|')\nfound = list(csv.reader(['a|b'], "
        "'mine'))\nd = csv.get_dialect('mine').delimiter\ncsv.unregister_dialect('mine')\n"
        "[found, d, 'mine' in csv.list_dialects(), csv.Sniffer().sniff('a;b\\nc;d').delimiter,"
        "csv.field_size_limit()]",
        "import csv\nclass D(csv.excel): delimiter = '#'\n[list(csv.reader(['a#b'], D)),"
        "csv.excel_tab.delimiter, csv.unix_dialect.lineterminator, csv.Dialect.delimiter,"
        "csv.QUOTE_MINIMAL, csv.QUOTE_NONE, csv.QUOTE_NONNUMERIC, csv.Error]",
    ],
    "datetime": [
        "import datetime as d\n[d.datetime(2024, 2, 29, tzinfo=d.UTC), d.date(2024, 1, 1).isoformat(),"
        "d.time(1, 2), d.timedelta(days=1) * 2, d.timezone(d.timedelta(hours=1)), d.MINYEAR,"
        "d.MAXYEAR, d.datetime.strptime('29 Feb 2024', '%d %b %Y'), d.tzinfo,"
        "d.datetime.fromisoformat('2024-01-01T00:00:00+01:00')]",
    ],
    "decimal": [
        "import decimal as d\n[d.Decimal('1.10') + 1, d.Decimal(1).as_tuple(), d.DecimalTuple,"
        "[d.Decimal('2.5').quantize(d.Decimal(1), r) for r in (d.ROUND_CEILING, d.ROUND_DOWN,"
        "d.ROUND_FLOOR, d.ROUND_HALF_DOWN, d.ROUND_HALF_EVEN, d.ROUND_HALF_UP, d.ROUND_UP,"
        "d.ROUND_05UP)], d.MAX_PREC, d.MAX_EMAX, d.MIN_EMIN, d.MIN_ETINY]",
        "import decimal as d\nwith d.localcontext() as c:\n    c.prec = 3\n    a = d.Decimal(1) / 3\n"
        "d.setcontext(d.Context(prec=28))\n[a, d.getcontext().prec]",
        "import decimal as d\n[d.Clamped, d.ConversionSyntax, d.DecimalException, d.DivisionByZero,"
        "d.DivisionImpossible, d.DivisionUndefined, d.FloatOperation, d.Inexact, d.InvalidContext,"
        "d.InvalidOperation, d.Overflow, d.Rounded, d.Subnormal, d.Underflow]",
    ],
    "difflib": [
        "import difflib as d\na, b = ['x\\n', 'y\\n'], ['x\\n', 'z\\n']\n"
        "[list(d.unified_diff(a, b, 'a', 'b')), list(d.context_diff(a, b)), list(d.ndiff(a, b)),"
        "list(d.Differ().compare(a, b)), list(d.restore(d.ndiff(a, b), 1)),"
        "d.get_close_matches('aple', ['apple', 'pear']), d.SequenceMatcher(None, 'ab', 'ac').ratio(),"
        "d.IS_CHARACTER_JUNK(' '), d.IS_LINE_JUNK('#'), len(d.HtmlDiff().make_table(a, b)),"
        "list(d.diff_bytes(d.unified_diff, [b'a'], [b'b']))]",
    ],
    "fractions": ["import fractions\nfractions.Fraction('1/3') + fractions.Fraction(1, 6)"],
    "graphlib": [
        "import graphlib\ntry:\n    list(graphlib.TopologicalSorter({1: [2], 2: [1]}).static_order())\n"
        "except graphlib.CycleError as e:\n    found = e.args[0]\n"
        "[found, list(graphlib.TopologicalSorter({'b': ['a']}).static_order())]",
    ],
    "hashlib": [
        "import hashlib as h\n[f(b'a').hexdigest() for f in (h.blake2b, h.blake2s, h.md5, h.sha1,"
        "h.sha224, h.sha256, h.sha384, h.sha512, h.sha3_224, h.sha3_256, h.sha3_384, h.sha3_512)]",
        "import hashlib as h\n[f(b'a').hexdigest(4) for f in (h.shake_128, h.shake_256)]",
        "import hashlib as h\n[h.new('sha256', b'a').hexdigest(), sorted(h.algorithms_guaranteed),"
        "h.pbkdf2_hmac('sha256', b'p', b's', 2), h.scrypt(b'p', salt=b's', n=2, r=1, p=1)]",
    ],
    "heapq": [
        "import heapq as h\nx = [3, 1, 2]\nh.heapify(x), h.heappush(x, 0)\n"
        "[h.heappop(x), h.heappushpop(x, 5), h.heapreplace(x, 9), list(h.merge([1], [0])),"
        "h.nlargest(2, [1, 2, 3]), h.nsmallest(1, [2, 1]), x]",
    ],
    "hmac": [
        "import hmac\nm = hmac.new(b'k', b'm', 'sha256')\n[m.hexdigest(), isinstance(m, hmac.HMAC),"
        "hmac.digest(b'k', b'm', 'sha256'), hmac.compare_digest(b'a', b'a')]",
    ],
    "html": [
        "import html\n[html.escape('<a>&\"'), html.unescape('&lt;&eacute;&#8364;'),"
        "html.entities.html5['gt;']]",
    ],
    "html.entities": [
        "import html.entities as e\n[e.codepoint2name[62], e.entitydefs['lt'], e.html5['gt;'],"
        "e.name2codepoint['amp']]",
    ],
    "io": [
        "import io\n[io.text_encoding('utf-8'), io.text_encoding(None)]",
        "import io\ns = io.StringIO('a\\nb'); s.seek(0, io.SEEK_END); s.write('c')\n"
        "b = io.BytesIO(b'abc'); b.seek(1, io.SEEK_SET); b.seek(1, io.SEEK_CUR)\n"
        "[s.getvalue(), list(io.StringIO('x\\ny')), b.read(), io.UnsupportedOperation]",
    ],
    "itertools": [
        "import itertools as i\n[list(i.accumulate([1, 2])), list(i.chain([1], [2])),"
        "list(i.combinations('ab', 2)), list(i.combinations_with_replacement('ab', 2)),"
        "list(i.compress('ab', [0, 1])), list(i.islice(i.count(1), 2)),"
        "list(i.islice(i.cycle('ab'), 3)), list(i.dropwhile(bool, [1, 0])),"
        "list(i.filterfalse(bool, [1, 0])), [(k, list(g)) for k, g in i.groupby('aab')],"
        "list(i.pairwise('abc')), list(i.permutations('ab')), list(i.product('ab', 'c')),"
        "list(i.repeat(1, 2)), list(i.starmap(pow, [(2, 3)])), list(i.takewhile(bool, [1, 0])),"
        "[list(t) for t in i.tee('ab')], list(i.zip_longest('ab', 'c'))]",
    ],
    "json": [
        "import json, io\nb = io.StringIO(); json.dump({'a': [1, None]}, b)\ntry:\n    json.loads('{')\n"
        "except json.JSONDecodeError as e:\n    found = e.msg\n[b.getvalue(), found,"
        "json.load(io.StringIO('[1]')), json.dumps({'b': 'é'}, indent=1), json.loads('1.5'),"
        "json.JSONDecoder().raw_decode('[1] x'), json.JSONEncoder(sort_keys=True).encode({'b': 1})]",
        "import json\nclass E(json.JSONEncoder):\n    def default(self, o): return 'seen'\n"
        "[json.dumps({1, 2}, cls=E), json.dumps(1j, default=str), json.loads('1', parse_int=str)]",
    ],
    "keyword": [
        "import keyword as k\n[k.iskeyword('if'), k.issoftkeyword('match'), k.kwlist, k.softkwlist]",
    ],
    "math": [
        "import math as m\n[f(0.5) for f in (m.acos, m.asin, m.asinh, m.atan, m.atanh, m.cbrt, m.ceil,"
        "m.cos, m.cosh, m.degrees, m.erf, m.erfc, m.exp, m.exp2, m.expm1, m.fabs, m.floor, m.frexp,"
        "m.gamma, m.isfinite, m.isinf, m.isnan, m.lgamma, m.log, m.log10, m.log1p, m.log2, m.modf,"
        "m.radians, m.sin, m.sinh, m.sqrt, m.tan, m.tanh, m.trunc, m.ulp)]",
        "import math as m\n[m.acosh(2), m.atan2(1, 2), m.comb(5, 2), m.copysign(1, -2), m.dist([0], [1]),"
        "m.factorial(5), m.fmod(5, 3), m.fsum([.1] * 10), m.gcd(4, 6), m.hypot(3, 4),"
        "m.isclose(1, 1), m.isqrt(10), m.lcm(4, 6), m.ldexp(1, 2), m.nextafter(1, 2), m.perm(4, 2),"
        "m.pow(2, 3), m.prod([2, 3]), m.remainder(5, 3), m.e, m.inf, m.nan, m.pi, m.tau]",
    ],
    "errno": [
        "import errno as e\n[e.E2BIG, e.EACCES, e.EAGAIN, e.EEXIST, e.EINTR, e.EINVAL, e.EIO, e.EISDIR, e.ENOENT,"
        "e.ENOSPC, e.ENOTDIR, e.EPERM, e.errorcode[2]]",
    ],
    "gc": ["import gc\ngc.collect() >= 0"],
    "os": [
        "import os\n[os.path.join('a', 'b'), os.sep, os.altsep, os.curdir, os.pardir, os.extsep, os.pathsep, os.SEEK_SET, os.SEEK_CUR, os.SEEK_END,"
        "os.linesep, os.name, os.fspath('a'), len(os.urandom(4)), os.getenv('NO', 'x'),"
        "os.environ.get('NO'), isinstance('a', os.PathLike), os.getcwd()[0]]",
        "import os.path\nfrom os import path as p\nimport os.path as q\n[p is q, p is os.path]",
    ],
    "os.path": [
        "import os.path as p\n[p.join('a', 'b'), p.basename('a/b'), p.dirname('a/b'), p.isabs('/a'),"
        "p.split('a/b'), p.altsep, p.extsep, p.pathsep, p.splitext('a.b'), p.splitdrive('a'), p.normpath('a/../b'), p.normcase('A'),"
        "p.commonpath(['a/b', 'a/c']), p.commonprefix(['ab', 'ac']), p.sep, p.curdir, p.pardir,"
        "p.abspath('/a/../b'), p.abspath(b'/a'), p.realpath('/no/../where'), p.expanduser('a'), "
        "p.expandvars('a'), p.relpath('/a/b', '/a/c'), p.relpath('x/y', 'x')]",
    ],
    "pathlib": [
        "from pathlib import PurePosixPath as P, PurePath\nimport os, pathlib\np = P('/a', 'b.tar.gz')\n"
        "[p, str(p / 'c'), 'x' / P('y'), p.name, p.stem, p.suffix, p.suffixes, p.parent, p.parts,"
        "list(p.parents), p.drive, p.root, p.anchor, p.is_absolute(), p.as_posix(), p.as_uri(),"
        "p.with_name('x'), p.with_stem('x'), p.with_suffix('.x'), p.joinpath('d', 'e'),"
        "p.relative_to('/a'), p.is_relative_to('/b'), p.match('*.gz'), os.path.join(p, 'q'),"
        "p == P('/a/b.tar.gz'), {p: 1}[P('/a/b.tar.gz')], sorted([P('b'), P('a')]), P('a') <= P('b'),"
        "isinstance(p, pathlib.PurePath), isinstance(p, pathlib.PurePosixPath)]",
    ],
    "pprint": [
        "import pprint, io\nb = io.StringIO(); v = {'b': list(range(30)), 'a': {1}}\n"
        "pprint.pprint(v, b), pprint.pp(v, b), pprint.PrettyPrinter(2, stream=b).pprint(v)\n"
        "[b.getvalue(), pprint.pformat(v, width=20), pprint.saferepr(v), pprint.isreadable(v),"
        "pprint.isrecursive(v)]",
        "import pprint\nfrom dataclasses import dataclass\n@dataclass\nclass Data:\n    x: int = 1\n"
        "pprint.pformat([Data()] * 9, width=30)",
    ],
    "random": [
        "import random as r\nr.seed(1)\n[r.betavariate(1, 1), r.choice('ab'), r.choices('ab', k=2),"
        "r.expovariate(1), r.gammavariate(1, 1), r.gauss(0, 1), r.getrandbits(8),"
        "r.lognormvariate(0, 1), r.normalvariate(0, 1), r.paretovariate(1), r.randbytes(2),"
        "r.randint(1, 9), r.random(), r.randrange(9), r.sample(range(9), 2), r.triangular(),"
        "r.uniform(1, 2), r.vonmisesvariate(0, 1), r.weibullvariate(1, 1)]",
        "import random as r\nr.seed(2); s = r.getstate(); a = r.random(); r.setstate(s)\n"
        "x = [1, 2, 3]; r.Random(1).shuffle(x); r.shuffle([1])\n[a == r.random(), x]",
    ],
    "re": [
        "import re\n[re.findall(r'\\d', 'a1'), re.sub('a', 'b', 'a'), re.subn('a', 'b', 'aa'),"
        "re.split(',', 'a,b'), re.search('a', 'ba').span(), re.match('(?P<n>a)', 'a').groupdict(),"
        "re.fullmatch('a', 'a') is None, [m.group() for m in re.finditer('a', 'aa')],"
        "re.escape('a.b'), re.compile('A', re.I | re.M).flags, re.purge()]",
        "import re\n[re.A, re.ASCII, re.DOTALL, re.IGNORECASE, re.L, re.LOCALE, re.MULTILINE, re.NOFLAG,"
        "re.S, re.U, re.UNICODE, re.VERBOSE, re.X, re.RegexFlag(2), re.Match, re.Pattern, re.error]",
    ],
    "secrets": [
        "import secrets as s\n[len(s.token_bytes(4)), len(s.token_hex(4)), len(s.token_urlsafe(6)),"
        "s.choice('a'), s.randbelow(1), s.randbits(0 + 1) < 2, s.compare_digest('a', 'a')]",
    ],
    "statistics": [
        "import statistics as s\nx, y = [1, 2, 3, 4], [2, 4, 6, 9]\n[f(x) for f in (s.mean, s.fmean,"
        "s.geometric_mean, s.harmonic_mean, s.median, s.median_high, s.median_low,"
        "s.median_grouped, s.mode, s.multimode, s.pstdev, s.pvariance, s.quantiles, s.stdev,"
        "s.variance)] + [s.correlation(x, y), s.covariance(x, y), s.linear_regression(x, y),"
        "s.NormalDist(0, 1).cdf(0), s.StatisticsError]",
    ],
    "string": [
        "import string as s\n[s.ascii_letters, s.ascii_lowercase, s.ascii_uppercase, s.digits,"
        "s.hexdigits, s.octdigits, s.printable, s.punctuation, s.whitespace, s.capwords('a b'),"
        "s.Template('$a ${b} $$').substitute(a=1, b=2), s.Template('$a $b').safe_substitute(a=1)]",
        "import string\nclass T(string.Template): delimiter = '%'\nT('%a').substitute({'a': 1})",
    ],
    "struct": [
        "import struct as s\nb = bytearray(8); s.pack_into('<i', b, 4, 7); S = s.Struct('<hi')\n"
        "S.pack_into(b, 0, 1, 2)\n[s.pack('>id', 1, .5), s.unpack('>i', b'\\0\\0\\0\\1'), b,"
        "s.unpack_from('<i', b, 4), list(s.iter_unpack('<h', b)), s.calcsize('<hi'), s.error, S.size,"
        "S.format, S.pack(1, 2), S.unpack(S.pack(3, 4)), S.unpack_from(b), list(S.iter_unpack(b[:6]))]",
    ],
    "textwrap": [
        "import textwrap as t\nx = 'some words to wrap'\n[t.dedent('  a'), t.fill(x, 9), t.indent(x, '>'),"
        "t.shorten(x, 12), t.wrap(x, 9), t.TextWrapper(width=8).wrap(x)]",
    ],
    "time": [
        "import time as t\ng = t.gmtime(0)\n[g, t.strftime('%Y', g), t.strptime('2024', '%Y'), t.asctime(g),"
        "isinstance(t.ctime(0), str), isinstance(t.localtime(0), t.struct_time),"
        "isinstance(t.mktime(g), float), isinstance(t.timezone + t.altzone + t.daylight, int),"
        "len(t.tzname), t.sleep(0), t.time() > 1e9, t.time_ns() > 1e18]",
        "import time as t\n[f() <= f() for f in (t.monotonic, t.monotonic_ns, t.perf_counter,"
        "t.perf_counter_ns, t.process_time, t.process_time_ns, t.thread_time, t.thread_time_ns)]",
    ],
    "unicodedata": [
        "import unicodedata as u\n[u.bidirectional('a'), u.category('a'), u.combining('a'), u.decimal('1'),"
        "u.decomposition('é'), u.digit('1'), u.east_asian_width('a'), u.is_normalized('NFC', 'a'),"
        "u.lookup('DIGIT ONE'), u.mirrored('('), u.name('a'), u.normalize('NFD', 'é'),"
        "u.numeric('½'), u.unidata_version]",
    ],
    "urllib": ["import urllib.parse\nurllib.parse.quote('a b')"],
    "urllib.parse": [
        "import urllib.parse as u\nx = u.urlparse('http://h:1/p;q?a=1&a=2#f')\n[x, x.hostname, x.port,"
        "u.urlsplit('//h/p').netloc, u.parse_qs('a=1&a=2'), u.parse_qsl('a=1'), u.quote('a/ é'),"
        "u.quote_plus('a b'), u.quote_from_bytes(b' '), u.unquote('%20'), u.unquote_plus('a+b'),"
        "u.unquote_to_bytes('%20'), u.urldefrag('a#b'), u.urlencode({'a': [1, 2]}, doseq=True),"
        "u.urljoin('http://h/a', 'b'), u.urlunparse(x), u.urlunsplit(u.urlsplit('http://h/p')),"
        "x._replace(path='/z').geturl(), isinstance(x, u.ParseResult), u.SplitResult]",
    ],
    "uuid": [
        "import uuid as u\n[u.uuid3(u.NAMESPACE_DNS, 'a'), u.uuid5(u.NAMESPACE_URL, 'a'),"
        "u.uuid5(u.NAMESPACE_OID, 'a'), u.uuid5(u.NAMESPACE_X500, 'a'), u.uuid4().version,"
        "u.UUID(int=1).hex, u.RESERVED_NCS, u.RFC_4122]",
    ],
    "zoneinfo": [
        "import zoneinfo\nfrom datetime import datetime, timedelta, UTC, time\nz = "
        "zoneinfo.ZoneInfo('Europe/Berlin')\nd = datetime(2024, 10, 27, 2, 30, tzinfo=z)\n"
        "[d, d.utcoffset(), d.replace(fold=1).utcoffset(), d.dst(), d.tzname(), str(z), z.key, z,"
        "datetime(2024, 10, 27, 1, 30, tzinfo=UTC).astimezone(z).fold, d.astimezone(UTC).isoformat(),"
        "(d + timedelta(days=1)).isoformat(), z is zoneinfo.ZoneInfo('Europe/Berlin'),"
        "time(1, tzinfo=z).utcoffset(), zoneinfo.ZoneInfo('UTC').utcoffset(None),"
        "'Asia/Tokyo' in zoneinfo.available_timezones(),"
        "datetime(2050, 7, 1, tzinfo=zoneinfo.ZoneInfo('America/New_York')).isoformat()]",
        "import zoneinfo\ntry:\n    zoneinfo.ZoneInfo('Europe/Nowhere')\n"
        "except zoneinfo.ZoneInfoNotFoundError as e:\n    found = isinstance(e, KeyError)\nfound",
    ],
}

# The same module under its other name.
DATA_SAMPLES["posixpath"] = [
    program.replace("import os.path as p", "import posixpath as p")
    for program in DATA_SAMPLES["os.path"]
]

SAMPLES = with_newer_samples({**DATA_SAMPLES, **TYPE_SAMPLES, **FORMAT_SAMPLES})
