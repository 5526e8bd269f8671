"""The samples of `facade_samples` for names that only newer versions of Python have."""

# ruff: noqa: E501 - a program reads better in few lines than in short ones
from __future__ import annotations

import sys
from collections.abc import Mapping

_PATHS = "[p.splitroot('/a/b'), p.splitroot('a'), p.splitroot('//a')]"

# By the version that added the names.
_NEWER: dict[tuple[int, int], dict[str, str]] = {
    (3, 12): {
        "calendar": (
            "import calendar as c\n[c.Day.MONDAY, c.Month.MAY, c.JANUARY, c.FEBRUARY, c.MARCH, c.APRIL,"
            "c.MAY, c.JUNE, c.JULY, c.AUGUST, c.SEPTEMBER, c.OCTOBER, c.NOVEMBER, c.DECEMBER]"
        ),
        "collections.abc": (
            "from collections.abc import Buffer\n"
            "[isinstance(one, Buffer) for one in (b'', bytearray(), memoryview(b''), '', 1)]"
        ),
        "csv": (
            "import csv, io\nb = io.StringIO()\nfor style in (csv.QUOTE_STRINGS, csv.QUOTE_NOTNULL):\n"
            "    csv.writer(b, quoting=style).writerow(['a', 1, None])\nb.getvalue()"
        ),
        "itertools": (
            "import itertools as i\n[list(i.batched('abcde', 2)), list(i.batched([], 3))]"
        ),
        "math": "import math\n[math.sumprod([1, 2], [3, 4]), math.sumprod([0.1] * 3, [1] * 3)]",
        "os.path": f"import os.path as p\n{_PATHS}",
        "posixpath": f"import posixpath as p\n{_PATHS}",
        "random": "import random as r\nr.seed(1)\n[r.binomialvariate(10, 0.5) for _ in range(3)]",
        "typing": (
            "import typing as t\nclass A:\n    @t.override\n    def f(self): return 1\n"
            "Names = t.TypeAliasType('Names', list[str])\n[A().f(), Names, isinstance(Names, t.TypeAliasType)]"
        ),
    },
    (3, 13): {
        "base64": "import base64 as b\nb.z85decode(b.z85encode(b'text'))",
        "copy": (
            "import copy\nfrom dataclasses import dataclass\nfrom collections import namedtuple\n"
            "@dataclass\nclass P:\n    x: int\n    y: int = 0\n"
            "[copy.replace(P(1), y=2), copy.replace(namedtuple('Q', 'a b')(1, 2), b=3)]"
        ),
        "math": "import math\nmath.fma(2.0, 3.0, 4.0)",
        "re": "import re\n[re.PatternError, re.PatternError is re.error]",
        "statistics": (
            "import statistics as s\nestimate = s.kde([1, 2, 4], h=1.5)\n"
            "draw = s.kde_random([1, 2, 4], h=1.5, seed=1)\n[round(estimate(2), 6), type(draw())]"
        ),
        "typing": (
            "import typing as t\nclass P(t.Protocol):\n    def f(self): ...\n"
            "class D(t.TypedDict):\n    a: t.ReadOnly[int]\ndef f(x) -> t.TypeIs[int]: return True\n"
            "[t.is_protocol(P), sorted(t.get_protocol_members(P)), D(a=1), f(1), t.NoDefault]"
        ),
    },
    (3, 14): {
        "decimal": (
            "import decimal as d\n[d.IEEEContext(64).prec, d.IEEE_CONTEXT_MAX_BITS > 0,"
            "d.IEEEContext(32).create_decimal('1') / 3]"
        ),
        "fnmatch": "import fnmatch\nfnmatch.filterfalse(['a.py', 'b.txt'], '*.py')",
        "functools": ("import functools as f\nf.partial(pow, f.Placeholder, 2)(5)"),
        "heapq": (
            "import heapq as h\nx = [1, 3, 2]\nh.heapify_max(x); h.heappush_max(x, 5)\n"
            "[h.heappop_max(x), h.heappushpop_max(x, 9), h.heapreplace_max(x, 0), x]"
        ),
        "io": (
            "import io\n[isinstance(io.StringIO(), io.Reader), isinstance(io.BytesIO(), io.Writer),"
            "isinstance(1, io.Reader)]"
        ),
        "operator": "import operator as o\n[o.is_none(None), o.is_not_none(None)]",
        "string": "import string\nstring.templatelib.Template('a').strings",
        "string.templatelib": (
            "from string.templatelib import Interpolation, Template, convert\nname = 'x'\n"
            "t = Template('a ', Interpolation(name, 'name', 'r', '>5'), '!')\n"
            "[t.strings, t.values, [(i.value, i.expression, i.conversion, i.format_spec)"
            " for i in t.interpolations], ''.join(one if isinstance(one, str) else"
            " format(convert(one.value, one.conversion), one.format_spec) for one in t)]"
        ),
        "uuid": "import uuid as u\n[u.NIL, u.MAX, u.uuid7().version, u.uuid8(1, 2, 3)]",
    },
}


def with_newer_samples(samples: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """`samples`, and those for the names that this version of Python has."""
    found = {module: list(programs) for module, programs in samples.items()}
    for version, newer in _NEWER.items():
        for module, program in newer.items() if sys.version_info >= version else ():
            found.setdefault(module, []).append(program)
    return found
