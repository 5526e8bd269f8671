"""Ways out through the standard library of user space, each tried for real.

As in the suite of the language: an attempt hands what it got to `take`, or calls `escaped` when it
did what it must not be able to do. It counts as stopped only if it ends as written next to it:
with that refusal, or harmlessly (`HARMLESS`), having got nothing.
"""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from support.language_programs import power_of, run

HARMLESS = "nothing refused it"
INTERPRETER = "reaches into the interpreter"
LIBRARY = "belongs to the library"
NO_PRIVATE = "has no private attributes"
NO_BASE = "cannot be a base class here"

# name: (attempt, part of its refusal)
ATTRIBUTES: dict[str, tuple[str, str]] = {
    "attrgetter of a dunder": (
        "from operator import attrgetter\ntake(attrgetter('__globals__')(print))",
        INTERPRETER,
    ),
    "attrgetter of a dunder behind a dot": (
        "from operator import attrgetter\ntake(attrgetter('upper.__self__')('a'))",
        "`__self__` is shown of your own methods only",
    ),
    "attrgetter of a dunder among others": (
        "from operator import attrgetter\ntake(attrgetter('real', '__class__.__globals__')(1))",
        INTERPRETER,
    ),
    "attrgetter of a frame": (
        "from operator import attrgetter\ntake(attrgetter('gi_frame')(n for n in ()))",
        INTERPRETER,
    ),
    "attrgetter of a private attribute": (
        "from operator import attrgetter\nattrgetter('_hidden')(secret)\nescaped()",
        NO_PRIVATE,
    ),
    "attrgetter of format": (
        "from operator import attrgetter\nattrgetter('format')('{0.real}')(1)\nescaped()",
        "a format cannot read attributes",
    ),
    "attrgetter by a string that lies": (
        """
        from operator import attrgetter
        class Name(str):
            def split(self, by): return [self]
            def startswith(self, *a): return False
        take(attrgetter(Name("__globals__"))(print))
        """,
        "attribute name must be a string",
    ),
    "type of a class by attrgetter": (
        "from operator import attrgetter\nattrgetter('__class__')(int)('X', (), {})\nescaped()",
        "write a class statement",
    ),
    "methodcaller of a dunder": (
        "from operator import methodcaller\ntake(methodcaller('__subclasses__')(object))",
        "is shown of your own classes only",
    ),
    "methodcaller of format": (
        "from operator import methodcaller\nmethodcaller('format', 1)('{0.real}')\nescaped()",
        "a format cannot read attributes",
    ),
    "methodcaller of a private method": (
        "from operator import methodcaller\nmethodcaller('_method')(secret)\nescaped()",
        NO_PRIVATE,
    ),
    "methodcaller by a string that lies": (
        "from operator import methodcaller\nclass N(str): pass\nmethodcaller(N('__dir__'))(1)",
        "method name must be a string",
    ),
    "attributes by a template": (
        "from string import Template\nTemplate('${a.real}').substitute(a=1)\nescaped()",
        "Invalid placeholder",
    ),
    "what a template replaces with": (
        """
        from string import Template
        class Fake:
            def sub(self, convert, text):
                take([convert, type(convert)])
                return text
        class T(Template): pass
        T.pattern = Fake()
        T("$a").substitute(a=1)
        """,
        HARMLESS,
    ),
    "format of a string that stands for another": (
        "from collections import UserString\nUserString('{0.real}').format(1)\nescaped()",
        "cannot import name 'UserString'",
    ),
    "formatter that can be extended": (
        "from string import Formatter\nFormatter().get_field('0.real', (1,), {})\nescaped()",
        "cannot import name 'Formatter'",
    ),
    "attribute by a property that can be renamed": (
        "from enum import property\nescaped()",
        "cannot import name 'property'",
    ),
}

CLASSES: dict[str, tuple[str, str]] = {
    "metaclass by typing": (
        """
        import typing
        class M(typing.Type): pass
        take(M("X", (), {"__getattr__": lambda self, name: name}))
        escaped()
        """,
        NO_BASE,
    ),
    "metaclass by a parametrised type": (
        "import typing\nclass M(typing.Type[int]): pass\ntake(M)\nescaped()",
        NO_BASE,
    ),
    "metaclass beside another base": (
        "import typing\nclass M(typing.Generic[typing.TypeVar('T')], typing.Type): pass\nescaped()",
        NO_BASE,
    ),
    "real type by its origin": (
        "import typing\ntake(typing.get_origin(typing.Type[int]))\n"
        "typing.get_origin(typing.Type[int])('X', (), {})\nescaped()",
        "write a class statement",
    ),
    "metaclass of abstract classes": (
        "from abc import ABCMeta\ntake(ABCMeta)\nABCMeta('X', (), {})\nescaped()",
        "cannot be made this way",
    ),
    "metaclass of enums": ("from enum import EnumType\ntake(EnumType)", "cannot import name"),
    "class from a function": ("from types import new_class\nescaped()", "cannot import name"),
    "function from code": (
        "import types\ntake(types.FunctionType)\ntypes.FunctionType(1, {})\nescaped()",
        "cannot be made this way",
    ),
    "module by its type": (
        "import types\ntake(types.ModuleType)\ntypes.ModuleType('x')\nescaped()",
        "cannot be made this way",
    ),
    "subclass of the type of modules": (
        "import types\nclass M(types.ModuleType): pass\nescaped()",
        NO_BASE,
    ),
    "subclass of a view": (
        "import types\nclass M(types.MappingProxyType): pass\nescaped()",
        NO_BASE,
    ),
    "dunder in an enum that has members": (
        """
        import re
        try:
            re.RegexFlag('E', {'__getattr__': print})
        except (TypeError, ValueError):  # which of them depends on the version
            raise LookupError("it has members") from None
        escaped()
        """,
        "it has members",
    ),
    "dunder in an enum of checks": (
        """
        import enum
        try:
            enum.EnumCheck('E', {'__getattr__': print})
        except (TypeError, ValueError):  # which of them depends on the version
            raise LookupError("it has members") from None
        escaped()
        """,
        "it has members",
    ),
    "dunder in an enum of boundaries": (
        """
        import enum
        try:
            enum.FlagBoundary('E', [('__getattr__', print)])
        except (TypeError, ValueError):  # which of them depends on the version
            raise LookupError("it has members") from None
        escaped()
        """,
        "it has members",
    ),
    "dunder in a namespace": (
        "import types\ntypes.SimpleNamespace(**{'__deepcopy__': print})\nescaped()",
        INTERPRETER,
    ),
    "dunder in a namespace made anew": (
        "import types\nn = types.SimpleNamespace()\nn.__init__(**{'__class__': print})\nescaped()",
        INTERPRETER,
    ),
    "dunder in a namespace by setattr": (
        "import types\nsetattr(types.SimpleNamespace(), '__deepcopy__', print)\nescaped()",
        INTERPRETER,
    ),
    "dunder in a namespace by its base": (
        """
        import types
        n = types.SimpleNamespace()
        super(types.SimpleNamespace, n).__init__(**{"__deepcopy__": print})
        escaped()
        """,
        "takes exactly one argument",
    ),
    "code of a library by a wrapper": (
        """
        import functools
        def f(): return 1
        def g(): return 2
        functools.update_wrapper(f, g, ("__code__", "__globals__"), ("__dict__",))
        if f() == 2:
            escaped()
        """,
        HARMLESS,
    ),
    "attributes of a library's class by a wrapper": (
        """
        import functools, json
        class Fake:
            encode = 1
        functools.update_wrapper(json.JSONEncoder, Fake)
        if json.JSONEncoder.__name__ == "Fake":
            escaped()
        """,
        HARMLESS,
    ),
    "function that is changed into a coroutine": (
        "from types import coroutine\nescaped()",
        "cannot import name 'coroutine'",
    ),
}

EVALUATION: dict[str, tuple[str, str]] = {
    "code in an annotation of a dispatched function": (
        """
        import functools
        @functools.singledispatch
        def f(x): pass
        @f.register
        def _(x: "[take(c) for c in ().__class__.__base__.__subclasses__()][0]"): pass
        escaped()
        """,
        "`__subclasses__` is shown of your own classes only",
    ),
    "code in an annotation of a dispatched method": (
        """
        import functools
        class C:
            @functools.singledispatchmethod
            def f(self, x): pass
            @f.register
            def _(self, x: "escaped.__globals__ or int"): pass
        escaped()
        """,
        "`__globals__` reaches into the interpreter",
    ),
    "the real dispatcher behind a method": (
        "import functools\nfunctools.singledispatchmethod(print).dispatcher\nescaped()",
        "no attribute 'dispatcher'",
    ),
    "a builtin of the interpreter by an annotation": (
        """
        import functools
        @functools.singledispatch
        def f(x): pass
        def g(x: "__builtins__"): pass
        f.register(g)
        escaped()
        """,
        "`__builtins__` reaches into the interpreter",
    ),
    "the class in a library's annotation": (
        """
        import functools, operator
        @functools.singledispatch
        def f(x): pass
        f.register(operator.attrgetter)
        take(list(f.registry))
        escaped()
        """,
        "Invalid first argument to `register()`",
    ),
    "code in a type hint": (
        """
        import typing
        class C:
            x: typing.Optional["().__class__.__base__.__subclasses__()"]
        take([*typing.get_type_hints(C, {}).values()])
        """,
        "`__subclasses__` is shown of your own classes only",
    ),
    "the globals of a function in its type hint": (
        """
        import typing
        def f(x: int) -> typing.Optional["f.__globals__"]: pass
        take([*typing.get_type_hints(f).values()])
        """,
        "`__globals__` reaches into the interpreter",
    ),
    "types of a library by its hints": (
        """
        import pprint, typing
        for kind in (type(secret), type(pprint.PrettyPrinter()), typing.IO):
            if typing.get_type_hints(kind):
                escaped()
        """,
        HARMLESS,
    ),
    "evaluating an argument of an alias": (
        "import typing\nref = typing.get_args(typing.Optional['1/0'])[0]\n"
        "ref._evaluate({}, {}, frozenset())\nescaped()",
        NO_PRIVATE,
    ),
}

HOLDERS: dict[str, tuple[str, str]] = {
    "module of a path": (
        "import pathlib\ntake(pathlib.PurePath('a').parser)",
        "no attribute 'parser'",
    ),
    "path behind a path": ("import pathlib\ntake(pathlib.PurePath('a')._path)", NO_PRIVATE),
    "path behind a path by a subclass": (
        "import pathlib\nclass P(pathlib.PurePosixPath): pass\ntake(P('a')._path)",
        NO_BASE,
    ),
    "path behind a path by super": (
        "import pathlib\np = pathlib.PurePath('a')\ntake(super(pathlib.PurePath, p).parser)",
        "no attribute 'parser'",
    ),
    "path with files": ("from pathlib import Path\nescaped()", "`caps.files.read` instead"),
    "zone from a file": (
        "import zoneinfo\ntake(zoneinfo.ZoneInfo.from_file)\nescaped()",
        "no attribute 'from_file'",
    ),
    "zone behind a zone": (
        "import zoneinfo\nzoneinfo.ZoneInfo('UTC')._zone.from_file\nescaped()",
        NO_PRIVATE,
    ),
    "zone behind a zone by a date of one's own": (
        """
        import datetime, zoneinfo
        zone = zoneinfo.ZoneInfo("Europe/Paris")
        class Date(datetime.datetime):
            def __init__(self, *parts, **named): look([*parts, *named.values()])
            def replace(self, **named):
                look(named.values())
                return self
            def __add__(self, other):
                look([self.tzinfo])
                return self
        def look(values):
            for value in values:
                if hasattr(value, "from_file"):
                    escaped()
        date = Date(2024, 1, 1, tzinfo=zone)
        zone.fromutc(date)
        date.astimezone(datetime.UTC).astimezone(zone)
        [zone.utcoffset(date), zone.dst(date), zone.tzname(date)]
        """,
        HARMLESS,
    ),
    "zone of one's own": ("import zoneinfo\nclass Z(zoneinfo.ZoneInfo): pass\nescaped()", NO_BASE),
    "array that is emptied while it is written": (
        """
        import array
        a = array.array("q", range(100_000))
        class Evil:
            def __index__(self):
                del a[:]
                return 1
        a[99_999] = Evil()
        escaped()
        """,
        "out of range",
    ),
    "array that is emptied while it is extended": (
        """
        import array
        a = array.array("d", [0.0]) * 100_000
        class Evil:
            def __float__(self):
                del a[:]
                return 1.0
        a[0:2] = [Evil(), Evil()]
        a.insert(Evil(), 1.0)
        """,
        "cannot be interpreted as an integer",
    ),
    "array behind an array": ("import array\narray.array('i')._array\nescaped()", NO_PRIVATE),
    "array behind an array by super": (
        "import array\na = array.array('i', [1])\n"
        "super(array.array, a).__setitem__(0, 1)\nescaped()",
        "no attribute '__setitem__'",
    ),
    "struct that is made anew while it packs": (
        """
        import struct
        s = struct.Struct("ii")
        class Evil:
            def __index__(self):
                s.__init__("i" * 100_000)
                return 1
        if s.pack(Evil(), 2) != struct.pack("ii", 1, 2):
            escaped()
        """,
        HARMLESS,
    ),
    "struct behind a struct": ("import struct\nstruct.Struct('i')._struct\nescaped()", NO_PRIVATE),
}

SYSTEM: dict[str, tuple[str, str]] = {
    "modules": ("import sys\ntake(sys.modules)", "no attribute 'modules'"),
    "frame by sys": ("from sys import _getframe\ntake(_getframe())", "is private to its module"),
    "frame by sys and getattr": ("import sys\ntake(getattr(sys, '_getframe')())", NO_PRIVATE),
    "tracing": ("import sys\nsys.settrace(print)\nescaped()", "no attribute 'settrace'"),
    "traceback by exc_info": (
        """
        import sys
        try:
            1 / 0
        except ZeroDivisionError:
            take(getattr(sys.exc_info()[2], "tb_frame"))
        """,
        INTERPRETER,
    ),
    "channel behind the output": ("import sys\ntake(sys.stdout._sink)\nescaped()", NO_PRIVATE),
    "output of one's own kind": (
        "import sys\nclass S(type(sys.stdout)): pass\ntake(S._sink)\nescaped()",
        NO_BASE,
    ),
    "stream behind a redirection": (
        "import contextlib\ncontextlib.redirect_stdout(1)._stream\nescaped()",
        NO_PRIVATE,
    ),
    "object in place of printed text": (
        """
        import contextlib
        class Text(str):
            def __str__(self): return self
        class Target:
            def write(self, text):
                if type(text) is not str:
                    escaped()
        import sys
        stream = sys.stdout
        print(Text("a"), file=Target())
        with contextlib.redirect_stdout(Target()):
            print(Text("a"), end=Text("b"))
            stream.write(Text("a"))
        sys.stdout = Target()
        print(Text("a"), end=Text("b"))
        stream.write(Text("a"))
        """,
        HARMLESS,
    ),
    "program by os": ("import os\nos.system('id')\nescaped()", "no attribute 'system'"),
    "program by name": ("from os import popen\nescaped()", "cannot import name 'popen'"),
    "file by os": ("import os\nos.open('/', 0)\nescaped()", "`caps.files.read` instead"),
    "module behind os.path": ("import os.path\ntake(os.path.os)", "no attribute 'os'"),
    "module behind os.path by name": (
        "import os.path.os as o\ntake(o)",
        "`os.path.os` cannot be imported here",
    ),
    "environment of the host": ("import os\ndict(os.environ)['PATH']\nescaped()", "KeyError"),
    "file by io": ("import io\nio.open('/etc/passwd')\nescaped()", "`caps.files.read` instead"),
    "descriptor by io": ("from io import FileIO\nFileIO(0)\nescaped()", "cannot import name"),
    "network by urllib": (
        "from urllib import request\nescaped()",
        "cannot import name 'request' from 'urllib' here",
    ),
    "network by a dotted name": (
        "import urllib.request\nescaped()",
        "`urllib.request` cannot be imported here",
    ),
    "module behind collections.abc": (
        "import collections.abc\ntake(collections.abc.sys)",
        "no attribute 'sys'",
    ),
    "frames of a traceback": (
        "from traceback import walk_tb\nescaped()",
        "cannot import name 'walk_tb'",
    ),
    "our own frames in the text of an error": (
        """
        import contextlib, json, traceback
        try:
            json.loads("{")
        except ValueError:
            text = traceback.format_exc()
        if "json" in text.replace("json.loads", "").replace("JSON", "") or "/" in text:
            escaped()
        """,
        HARMLESS,
    ),
    "hooks of the library's warnings": (
        "import warnings\nwarnings.showwarning = print\nescaped()",
        "cannot be set on a module",
    ),
    "filters behind warnings": (
        "import warnings\nwarnings.catch_warnings()._warnings\nescaped()",
        NO_PRIVATE,
    ),
    "table of a printer": (
        "import pprint\ntake(pprint.PrettyPrinter()._dispatch)\nescaped()",
        NO_PRIVATE,
    ),
    "table of a printer by a subclass": (
        "import pprint\nclass P(type(pprint.PrettyPrinter())): pass\nP._dispatch\nescaped()",
        LIBRARY,
    ),
    "module as a digest": (
        """
        import hmac
        class Digest:
            def __call__(self, *args):
                take([*args, *map(type, args)])
                raise LookupError("seen")
        hmac.new(b"k", b"m", Digest())
        """,
        "seen",
    ),
}

ATTEMPTS = {**ATTRIBUTES, **CLASSES, **EVALUATION, **HOLDERS, **SYSTEM}


class Secret:
    """Represents any object of ours or of a library that user code can reach."""

    _hint: int = 0

    def __init__(self) -> None:
        self._hidden = "loot"

    def _method(self) -> str:
        return self._hidden


def attempt(source: str) -> tuple[list[str], str]:
    """Run an attempt; what it reached, and how it ended."""
    taken: list[str] = []

    def take(value: Any) -> None:
        items = [value, *value] if isinstance(value, (list, tuple)) else [value]
        taken.extend(found for found in map(power_of, items) if found)

    names = {
        "escaped": lambda: taken.append("what it wanted"),
        "secret": Secret(),
        "take": take,
    }
    try:
        run(dedent(source), names)
    except BaseException as error:
        return taken, f"{type(error).__name__}: {error}"
    return taken, HARMLESS


@pytest.mark.parametrize("name", ATTEMPTS)
def test_the_way_out_is_closed(name: str) -> None:
    """The attempt gets nothing, and ends as it is meant to end."""
    source, ending = ATTEMPTS[name]
    taken, ended = attempt(source)
    assert taken == []
    assert ending in ended
