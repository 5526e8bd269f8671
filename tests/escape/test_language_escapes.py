"""Ways out of the restricted language, each tried for real: a test fails when its attempt works.

Only the language layer stands here; the process and the kernel are off. An attempt hands what it
got to `take`, or calls `escaped` when it did what it must not be able to do. It counts as refused
only if it ends with the refusal that is written beside it, so that a misspelt one fails, too.
"""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from caps.worker.inside.record import record_of
from unit.language_programs import power_of, run

INTERPRETER = "reaches into the interpreter"
LIBRARY = "belongs to the library"
NO_PRIVATE = "has no private attributes"
NO_BASE = "cannot be a base class here"

# name: (attempt, part of its refusal)
STATIC: dict[str, tuple[str, str]] = {
    "private name of a module": ("from caps import _domains\ntake(_domains)", "is private to"),
    "subclasses of object": ("take(object.__subclasses__())", INTERPRETER),
    "bases by way of a tuple": ("take(().__class__.__bases__[0].__subclasses__())", INTERPRETER),
    "method resolution order": ("take(int.mro())", INTERPRETER),
    "dunder mro": ("take(int.__mro__)", INTERPRETER),
    "globals of a function": ("def f(): pass\ntake(f.__globals__)", INTERPRETER),
    "builtins of a function": ("def f(): pass\ntake(f.__builtins__)", INTERPRETER),
    "code of a function": ("take((lambda: 0).__code__)", INTERPRETER),
    "closure of print": ("take(print.__closure__[0].cell_contents)", INTERPRETER),
    "self of a bound guard": ("take(getattr.__self__)", INTERPRETER),
    "function of a bound guard": ("take(getattr.__func__)", INTERPRETER),
    "self of a builtin": ("take(len.__self__)", INTERPRETER),
    "wrapped function": (
        "from functools import cache\ntake(cache(print).__wrapped__)",
        INTERPRETER,
    ),
    "dict of a class": ("take(int.__dict__)", INTERPRETER),
    "module of a class": ("take(int.__module__)", INTERPRETER),
    "builtins by name": ("take(__builtins__)", INTERPRETER),
    "import by name": ("take(__import__('os'))", INTERPRETER),
    "build_class by name": ("take(__build_class__)", INTERPRETER),
    "loader by name": ("take(__loader__)", INTERPRETER),
    "spec by name": ("take(__spec__)", INTERPRETER),
    "class cell by name": ("class C:\n    def f(self): take(__class__)", INTERPRETER),
    "annotations by name": ("x: int = 1\n__annotations__['a b'] = int\nescaped()", INTERPRETER),
    "global builtins": ("def f():\n    global __builtins__\n    __builtins__ = {}", INTERPRETER),
    "nonlocal class cell": (
        "class C:\n    def f(self):\n        nonlocal __class__\n        __class__ = int",
        INTERPRETER,
    ),
    "frame of a generator": ("take((n for n in ()).gi_frame)", INTERPRETER),
    "code of a generator": ("take((n for n in ()).gi_code)", INTERPRETER),
    "what a generator yields from": ("take((n for n in ()).gi_yieldfrom)", INTERPRETER),
    "frame of a coroutine": ("async def f(): pass\ntake(f().cr_frame)", INTERPRETER),
    "origin of a coroutine": ("async def f(): pass\ntake(f().cr_origin)", INTERPRETER),
    "frame of an asynchronous generator": (
        "async def f():\n    yield\ntake(f().ag_frame)",
        INTERPRETER,
    ),
    "code of an asynchronous generator": (
        "async def f():\n    yield\ntake(f().ag_code)",
        INTERPRETER,
    ),
    "traceback of an error": (
        "try:\n    1 / 0\nexcept Exception as e:\n    take(e.__traceback__)",
        INTERPRETER,
    ),
    "frame of the traceback that __exit__ gets": (
        """
        class C:
            def __enter__(self): pass
            def __exit__(self, kind, error, trace): take(trace.tb_frame)
        with C():
            1 / 0
        """,
        INTERPRETER,
    ),
    "frame by a keyword pattern": (
        "match (n for n in ()):\n    case object(gi_frame=f): take(f)",
        INTERPRETER,
    ),
    "class by a keyword pattern": ("match 1:\n    case object(__class__=c): take(c)", INTERPRETER),
    "private attribute by a keyword pattern": (
        "match secret:\n    case object(_hidden=h): escaped()",
        "a pattern cannot read the attribute `_hidden`",
    ),
    "format by a keyword pattern": (
        "match '{0.__class__}':\n    case str(format=f): take(f)",
        "a pattern cannot read the attribute `format`",
    ),
    "look-alike letters in an attribute": ("take((lambda: 0).__\uff47lobals__)", INTERPRETER),
    "look-alike letters in a frame": ("take((n for n in ()).\uff47i_frame)", INTERPRETER),
    "look-alike letters in a name": ("take(__\uff42uiltins__)", INTERPRETER),
    "metaclass": ("class C(metaclass=print): pass", "a class cannot choose its metaclass"),
    "getattribute in a class": ("class C:\n    def __getattribute__(self, n): pass", INTERPRETER),
    "getattr in a class": ("class C:\n    def __getattr__(self, n): pass", INTERPRETER),
    "new in a class": ("class C:\n    def __new__(cls): pass", INTERPRETER),
    "init_subclass in a class": ("class C:\n    def __init_subclass__(cls): pass", INTERPRETER),
    "set_name in a class": ("class C:\n    def __set_name__(self, o, n): pass", INTERPRETER),
    "descriptor in a class": ("class C:\n    def __get__(self, i, o): pass", INTERPRETER),
    "reduce in a class": ("class C:\n    __reduce_ex__ = print", INTERPRETER),
    "match_args in a class": ("class C:\n    __match_args__ = ('__globals__',)", INTERPRETER),
    "subclasshook in a class": ("class C:\n    __subclasshook__ = print", INTERPRETER),
    "class attribute in a class": ("class C:\n    __class__ = int", INTERPRETER),
    "mro_entries in a class": ("class C:\n    def __mro_entries__(s, b): pass", INTERPRETER),
    "del method in a class": ("class C:\n    def __del__(self): pass", INTERPRETER),
    "dunder by a loop": ("class C:\n    for __getattr__ in [print]: pass", INTERPRETER),
    "dunder by a walrus": ("class C:\n    x = [(__getattr__ := print)]", INTERPRETER),
    "dunder by an import": ("class C:\n    from math import sqrt as __getattr__", INTERPRETER),
    "dunder by a with": ("class C:\n    with x as __getattr__: pass", INTERPRETER),
    "dunder by a handler": (
        "class C:\n    try: pass\n    except E as __getattr__: pass",
        INTERPRETER,
    ),
    "dunder by a pattern": ("class C:\n    match 1:\n        case __getattr__: pass", INTERPRETER),
    "dunder by a nested class": ("class C:\n    class __getattr__: pass", INTERPRETER),
    "dunder of an instance": ("class C: pass\nC().__class__ = int", INTERPRETER),
    "name of a function": ("def f(): pass\nf.__name__ = 'x'\nescaped()", INTERPRETER),
    "code of another function": (
        "def f(): pass\ndef g(): pass\nf.__code__ = g.__code__",
        INTERPRETER,
    ),
    "defaults of a guard": ("getattr.__defaults__ = ()\nescaped()", INTERPRETER),
    "deleting a dunder": ("del print.__kwdefaults__\nescaped()", INTERPRETER),
    "dunder as a keyword": ("dict(__class__=1)", INTERPRETER),
    "import of the program": ("import __main__\ntake(__main__)", INTERPRETER),
    "import of everything": ("from math import *", "name what you import"),
    "relative import": ("from . import x", "there is no package to import from"),
    "inherited method that is none": ("super().__getattribute__('x')", INTERPRETER),
    "reduce called by a name": ("x = 1\ntake(x.__reduce_ex__(2))", INTERPRETER),
    "subclasses called by a name": ("x = object\ntake(x.__subclasses__())", INTERPRETER),
}

NAMES_AT_RUN_TIME: dict[str, tuple[str, str]] = {
    "getattr of a dunder": ("take(getattr(print, '__globals__'))", INTERPRETER),
    "getattr of a frame": ("take(getattr((n for n in ()), 'gi_frame'))", INTERPRETER),
    "getattr of a traceback": (
        """
        class C:
            def __enter__(self): pass
            def __exit__(self, kind, error, trace): take(getattr(trace, 'tb_' + 'frame'))
        with C():
            1 / 0
        """,
        INTERPRETER,
    ),
    "getattr of mro": ("take(getattr(int, 'mro')())", INTERPRETER),
    "getattr of a private attribute": ("getattr(secret, '_hidden')\nescaped()", NO_PRIVATE),
    "getattr of format": (
        "take(getattr('{0.__class__}', 'format')(1))\nescaped()",
        "a format cannot read attributes",
    ),
    "getattr by a string that lies": (
        """
        class Name(str):
            def startswith(self, *a): return False
            def __eq__(self, o): return True
            def __hash__(self): return hash("real")
        take(getattr(print, Name("__globals__")))
        """,
        "attribute name must be a string",
    ),
    "setattr by a string that lies": (
        "class N(str): pass\nsetattr(print, N('__doc__'), 1)\nescaped()",
        "attribute name must be a string",
    ),
    "setattr of a dunder": ("class C: pass\nsetattr(C, '__getattr__', print)", INTERPRETER),
    "setattr of a function's code": ("setattr(print, '__code__', 1)", INTERPRETER),
    "delattr of a dunder": ("delattr(print, '__kwdefaults__')\nescaped()", INTERPRETER),
    "getattr of the class": (
        "take(getattr(int, '__class__'))\ntake(getattr(int, '__class__')('X', (), {}))",
        "write a class statement",
    ),
    "vars of what is not one's own": ("vars(secret)\nescaped()", NO_PRIVATE),
    "vars of a module": ("import math\ntake(vars(math))", NO_PRIVATE),
    "vars of a super object": (
        "class C: pass\ntake(vars(super(type(secret), secret)))",
        NO_PRIVATE,
    ),
    "vars without an argument": ("take(vars())", "missing 1 required positional argument"),
    "private attribute of a library object": ("secret._hidden\nescaped()", NO_PRIVATE),
    "private attribute of a record": ("record._read_only\nescaped()", NO_PRIVATE),
    "private attribute of a super object": (
        "super(type(below), below)._hidden\nescaped()",
        NO_PRIVATE,
    ),
    "setting a private attribute of a library object": (
        "secret._hidden = 1\nescaped()",
        NO_PRIVATE,
    ),
    "private attribute of a library class": ("import random\nrandom.Random._randbelow", NO_PRIVATE),
}

TYPES: dict[str, tuple[str, str]] = {
    "type with three arguments": ("take(type('X', (), {}))", "write a class statement"),
    "type of a class": ("take(type(int))\ntype(int)('X', (), {})", "write a class statement"),
    "class of a class": ("take(int.__class__)\nint.__class__('X', (), {})", "write a class"),
    "type of an enum": (
        "from enum import Enum\ntake(type(Enum))\ntype(Enum)('X', (), {})",
        "write a class statement",
    ),
    "type of an abstract class": (
        "from typing import Sized\nclass C(Sized): pass\ntake(type(C))\ntype(C)('X', (), {})",
        "write a class statement",
    ),
    "type of a function": ("take(type(print))\ntype(print)(1, {})", "cannot be made this way"),
    "type of a method": (
        "class C:\n    def f(self): pass\ntype(C().f)(print, 1)",
        "cannot be made",
    ),
    "type of a module": ("import math\ntake(type(math))\ntype(math)('x')", "cannot be made"),
    "subclass of type": ("class X(type): pass\ntake(X._stands_for)", NO_BASE),
    "subclass of the type of functions": (
        "class X(type(print)): pass\ntake(X._stands_for)",
        NO_BASE,
    ),
    "what a stand-in stands for": ("take(type._stands_for)", NO_PRIVATE),
    "changing type": ("type.x = 1\nescaped()", "cannot be changed"),
    "init of type": ("type.__init__(type, 'X', (), {})\nescaped()", "takes exactly one argument"),
    "call of type by its method": ("take(type.__call__('X', (), {}))", "write a class statement"),
    "metaclass by unpacking": (
        "class C(**{'metaclass': print}): pass\nescaped()",
        "a class cannot choose its metaclass",
    ),
    "an instance as a base": (
        """
        class Meta:
            def __init__(self, *args):
                if args: escaped()
        class C(Meta()): pass
        """,
        "a base must be a class",
    ),
    "an instance as a base by way of a record": (
        "class C(type(record)({'__mro_entries__': lambda bases: (1,)})): pass\nescaped()",
        "a base must be a class",
    ),
    "dunder slots": ("class C:\n    __slots__ = ('__get__',)\nescaped()", "cannot be a slot"),
    "dunder slots by a dict": (
        "class C:\n    __slots__ = {'__class__': 'x'}\nescaped()",
        "cannot be a slot",
    ),
    "dunder in an enum by its names": (
        "from enum import Enum\nE = Enum('E', {'__getattr__': print, 'A': 1})\nescaped()",
        "write a class statement to make an enum",
    ),
    "dunder in an enum by its call method": (
        "from enum import Flag\nFlag.__call__('E', [('__getattr__', print)])\nescaped()",
        "write a class statement to make an enum",
    ),
    "dunder in an enum by its private maker": (
        "from enum import Enum\nclass E(Enum): pass\nE._create_('F', {'__getattr__': print})",
        LIBRARY,
    ),
    "module values as enum members": (
        """
        from enum import Enum
        class E(Enum):
            A = 1
        found = E._convert_("X", "json", lambda name: name == "codecs")
        take(list(found)[0].value)
        """,
        LIBRARY,
    ),
    "module values as enum members by the metaclass": (
        "from enum import Enum\nclass E(Enum): A = 1\ntake(getattr(E, '_convert_'))",
        LIBRARY,
    ),
    "private names of an enum by vars": (
        "from enum import Enum\nclass E(Enum): A = 1\ntake(vars(E)['_new_member_'])\nescaped()",
        "KeyError",
    ),
}

LIBRARIES: dict[str, tuple[str, str]] = {
    "module that is not offered": ("import os\ntake(os)", "`os` cannot be imported here"),
    "builtins module": ("import builtins\ntake(builtins)", "`builtins` cannot be imported here"),
    "sys module": ("import sys\ntake(sys)", "`sys` cannot be imported here"),
    "submodule of a facade": (
        "from json import decoder\ntake(decoder)",
        "cannot import name 'decoder'",
    ),
    "submodule by a dotted name": (
        "import json.decoder as d\ntake(d)",
        "`json.decoder` cannot be imported here",
    ),
    "module behind a facade": ("import random\ntake(random._os)", NO_PRIVATE),
    "module that the interpreter imports": (
        "import _strptime\ntake(_strptime)\ntake(_strptime.locale)",
        "has no attribute 'locale'",
    ),
    "submodule by renaming a facade": (
        """
        import functools, math
        def json(): pass
        functools.wraps(json)(math)
        math.__name__
        """,
        "has no attribute '__name__'",
    ),
    "submodule by renaming caps": (
        "import functools\ndef json(): pass\nfunctools.wraps(json)(record)\nrecord.__name__",
        "has no `__name__`",
    ),
    "code in a forward reference": (
        """
        from typing import Union
        class Ref(type(Union["x"]), _root=True): pass
        take(Ref("__import__('os')")._evaluate({}, {}, frozenset()))
        """,
        LIBRARY,
    ),
    "evaluating a forward reference": (
        "from typing import Union\nfound = Union[\"__import__('os')\"]\n"
        "take(found._evaluate({}, {}, frozenset()))",
        NO_PRIVATE,
    ),
    "private attributes through an alias": (
        "from typing import List\nclass X(type(List[int]), _root=True): pass\n"
        "X(secret, ())._hidden\nescaped()",
        NO_BASE,
    ),
    "private attributes through a generic alias": (
        "class X(type(list[int])): pass\nX(secret, ())._hidden\nescaped()",
        NO_BASE,
    ),
    "private attributes through a super of one's own": (
        "class S(super): pass\nS(type(below), below)._hidden\nescaped()",
        NO_BASE,
    ),
    "private attributes of a library base": (
        "class Mine(type(secret)): pass\nMine._method\nescaped()",
        LIBRARY,
    ),
    "private attributes of a library base, mangled": (
        """
        class Secret(type(secret)):
            def look(self): return self.__deep
        Secret().look()
        escaped()
        """,
        LIBRARY,
    ),
    "private attributes of a library base by super": (
        """
        class Mine(type(secret)):
            def look(self): return super()._method()
        Mine().look()
        escaped()
        """,
        LIBRARY,
    ),
    "private attributes of a sibling by super": (
        """
        class A:
            def look(self): return super()._method()
        class B(A, type(secret)): pass
        B().look()
        escaped()
        """,
        LIBRARY,
    ),
    "what deepcopy saw": (
        "import copy\nmemo = {}\ncopy.deepcopy(secret, memo)\ntake(memo)\nescaped()",
        "deepcopy() takes 1 positional argument",
    ),
    "any key in an instance's dictionary": (
        """
        from functools import cached_property
        class C:
            @cached_property
            def x(self): return print
        C.x.attrname = "__reduce_ex__"
        escaped()
        """,
        "has no attribute 'attrname'",
    ),
    "a cached_property named anew": (
        "from functools import cached_property\ncached_property(print)._name = 'x'\nescaped()",
        NO_PRIVATE,
    ),
    "a cached_property of one's own": (
        "from functools import cached_property\nclass P(cached_property): pass\n"
        "P(print)._name = '__reduce_ex__'\nescaped()",
        NO_BASE,
    ),
    "private attributes of a task": (
        "from asyncio import Task\nclass T(Task): pass\nT._loop\nescaped()",
        NO_BASE,
    ),
    "private attributes of a queue": (
        "from asyncio import Queue\nclass Q(Queue): pass\nQ()._items\nescaped()",
        NO_BASE,
    ),
    "private attributes of the loop": (
        "import asyncio\nclass E(asyncio.AbstractEventLoop): pass\nescaped()",
        NO_BASE,
    ),
    "a generic queue as a base": (
        "from asyncio import Queue\nclass Q(Queue[int]): pass\nQ()._items\nescaped()",
        NO_BASE,
    ),
    "coroutine of a task": (
        "import asyncio\nasync def f(): pass\nt = asyncio.ensure_future(f())\nt.get_coro()\n",
        "has no attribute 'get_coro'",
    ),
    "loop of a future": ("import asyncio\ntake(asyncio.Future()._loop)", NO_PRIVATE),
    "context of a task": (
        "import asyncio\ntake(asyncio.current_task()._context)\nawait asyncio.sleep(0)",
        NO_PRIVATE,
    ),
    "a method that the loop calls": (
        "import asyncio\nasyncio.Future.add_done_callback = lambda *a: take(a)\nescaped()",
        "cannot be set on `Future`",
    ),
    "a callback of ours by comparing it": (
        """
        import asyncio
        class Same:
            def __call__(self, future): pass
            def __eq__(self, other): escaped()
            def __ne__(self, other): escaped()
        async def waits(future): await future
        future = asyncio.Future()
        task = asyncio.create_task(waits(future))
        await asyncio.sleep(0)
        future.remove_done_callback(Same())
        future.cancel()
        raise ValueError("not compared")
        """,
        "not compared",
    ),
    "traceback of an error that a task raised": (
        """
        import asyncio
        class Telling(Exception):
            def with_traceback(self, traceback): escaped()
        async def raises(): raise Telling("not told")
        task = asyncio.create_task(raises())
        await asyncio.sleep(0)
        await task
        """,
        "not told",
    ),
    "private attributes of a record": ("class R(type(record)): pass\nescaped()", NO_BASE),
    "a hook of copy in a record": (
        """
        import copy
        def hook(*args): escaped()
        copy.copy(type(record)({"__reduce_ex__": hook, "__setstate__": hook}))
        record.__setstate__
        """,
        INTERPRETER,
    ),
    "a dictionary of attributes in a record": (
        """
        from functools import cache
        fake = type(record)({"__dict__": {"__deepcopy__": print}, "__name__": "x"})
        fake.__doc__
        getattr(fake, "__name__")
        """,
        "has no `__name__`",
    ),
    "field of a dataclass from a key of a typed dictionary": (
        """
        from dataclasses import dataclass, field
        from typing import TypedDict
        N = "x, *, y=(_ for _ in ()).throw(Exception(eval, __import__))"
        class D(TypedDict("T", {N: int})): pass
        setattr(D, N, field(init=False, repr=False, compare=False))
        try:
            dataclass(D)
        except ValueError:
            raise
        except Exception as error:
            take(error.args)
        """,
        "cannot be the name of a field",
    ),
    "field with the name of code": (
        """
        from dataclasses import dataclass, fields
        @dataclass(eq=False)
        class A:
            x: int = 0
            def found(self, module):
                take(module)
        fields(A)[0].name = "x or self.found(__import__('os'))"
        @dataclass(eq=False)
        class B(A): pass
        repr(B())
        """,
        "can't set attribute",
    ),
    "field with the name of code, kept from its making": (
        """
        from dataclasses import dataclass, field
        kept = field(default=0)
        @dataclass(eq=False)
        class A:
            x: int = kept
            def found(self, module):
                take(module)
        kept.name = "x or self.found(__import__('os'))"
        @dataclass(eq=False)
        class B(A): pass
        repr(B())
        """,
        "can't set attribute",
    ),
    "field with the name of code, of a kind of one's own": (
        """
        from dataclasses import dataclass, field
        class Evil(type(field())):
            name = property(lambda self: "x or self.found(__import__('os'))", lambda self, n: None)
        @dataclass(eq=False)
        class A:
            x: int = Evil(name=None, type=None, default=0)
            def found(self, module):
                take(module)
        repr(A())
        """,
        NO_BASE,
    ),
    "field met while the class is made": (
        """
        from dataclasses import dataclass, field
        def look(cls):
            cls.x.name = "x or self.found(__import__('os'))"
        @dataclass(eq=False)
        class A:
            x: int = field(default=0)
            y: int = classmethod(property(look))
            def found(self, module):
                take(module)
        repr(A())
        """,
        "cannot have a class method as its default",
    ),
    "field met by an option that looks": (
        """
        from dataclasses import dataclass, field
        class Option:
            def __bool__(self):
                A.x.name = "x or self.found(__import__('os'))"
                return True
        class A:
            x: int = field(default=0)
            def found(self, module):
                take(module)
        dataclass(A, eq=False, repr=Option())
        repr(A())
        """,
        "can't set attribute",
    ),
    "field left over by a dataclass that failed": (
        """
        from dataclasses import dataclass, field
        class A:
            x: int = field(default=0)
            y: int
        try:
            dataclass(A)
        except TypeError:
            pass
        A.x.name = "x or escaped()"
        escaped()
        """,
        "no attribute 'x'",
    ),
    "names of code in a typed dictionary": (
        """
        from dataclasses import dataclass
        from typing import TypedDict
        dataclass(TypedDict("T", {"x or __import__('os')": int}))
        escaped()
        """,
        "a dataclass is made from a class statement",
    ),
    "dataclass of a library class": (
        "from dataclasses import dataclass\nfrom collections import Counter\ndataclass(Counter)\n"
        "escaped()",
        "a dataclass is made from a class statement",
    ),
    "library's private default of a field": (
        """
        from dataclasses import dataclass, fields
        @dataclass
        class Mine(type(secret)):
            _method: object
        take(fields(Mine)[0].default)
        escaped()
        """,
        "`_method` cannot be a field",
    ),
    "library's private default of a field, after the refusal": (
        """
        from dataclasses import dataclass, fields
        class Mine(type(secret)):
            _method: object
        try:
            dataclass(Mine)
        except TypeError:
            pass
        fields(Mine)
        escaped()
        """,
        "must be called with a dataclass",
    ),
    "format by a positional pattern of a class that was made anew": (
        """
        from dataclasses import dataclass
        from typing import Sized
        class Text(Sized):
            format: object = None
            def __len__(self): return 0
        Text.register(str)
        dataclass(Text, slots=True)
        match "{0.__class__}":
            case Text(found): take(found)
        """,
        "accepts 0 positional sub-patterns",
    ),
    "format as the default of a field": (
        """
        from dataclasses import dataclass, fields
        @dataclass
        class Text(str):
            format: object
        take(fields(Text)[0].default)
        """,
        "`format` cannot be a field",
    ),
    "format as a field of a base": (
        """
        from dataclasses import dataclass, asdict
        @dataclass
        class A:
            format: object
        class Text(A, str):
            def __init__(self): pass
        take(asdict(Text())["format"])
        """,
        "`format` cannot be a field",
    ),
    "format by a positional pattern": (
        """
        from dataclasses import dataclass
        from typing import Sized
        @dataclass
        class Text(Sized):
            format: object = None
            def __len__(self): return 0
        Text.register(str)
        match "{0.__class__}":
            case Text(found): take(found)
        """,
        "accepts 0 positional sub-patterns",
    ),
    "private attribute by a positional pattern": (
        """
        from dataclasses import dataclass
        from typing import Sized
        @dataclass
        class Like(Sized):
            _hidden: object = None
            def __len__(self): return 0
        Like.register(type(secret))
        match secret:
            case Like(found): escaped()
        """,
        "accepts 0 positional sub-patterns",
    ),
    "format by a positional pattern of a named tuple": (
        """
        from collections import namedtuple
        from typing import Sized
        class Text(namedtuple("N", "format"), Sized): pass
        Text.register(str)
        match "{0.__class__}":
            case Text(found): take(found)
        """,
        "accepts 0 positional sub-patterns",
    ),
    "named tuple with the name of code": (
        "from collections import namedtuple\nnamedtuple('N', ['x or __import__(1)'])\nescaped()",
        "cannot be the name of a field",
    ),
    "named tuple with a name that lies": (
        """
        from collections import namedtuple
        class Name(str):
            def isidentifier(self): return True
        namedtuple("N", [Name("x or 1")])
        escaped()
        """,
        "cannot be the name of a field",
    ),
    "named tuple with a dunder": (
        "from collections import namedtuple\nnamedtuple('__class__', 'x')\nescaped()",
        "cannot be the name of a field",
    ),
    "type of a class by an error inside a library": (
        """
        from contextlib import ExitStack
        try:
            ExitStack().enter_context(int)
        except TypeError as e:
            found = e.__context__
        take(found.obj)
        take(getattr(found, "obj"))
        take(type(list[int])(found, ()).obj)
        found.obj("X", (), {})
        """,
        "write a class statement",
    ),
    "type of a function by an error inside a library": (
        """
        from contextlib import ExitStack
        try:
            ExitStack().enter_context(print)
        except TypeError as e:
            found = e.__context__
        take(found.obj)
        found.obj(1, {})
        """,
        "cannot be made this way",
    ),
    "object of an error by a pattern": (
        "match error:\n    case AttributeError(obj=o): take(o)",
        "a pattern cannot read the attribute `obj`",
    ),
    "attributes by getter": (
        "from operator import attrgetter\ntake(attrgetter('__globals__')(print))",
        "cannot import name 'attrgetter'",
    ),
    "type hints": ("import typing\ntyping.get_type_hints", "has no attribute 'get_type_hints'"),
    "changing a facade": ("import math\nmath.pi = 3\nescaped()", "cannot be set on a module"),
    "deleting from a facade": ("import math\ndel math.pi\nescaped()", "cannot be deleted"),
    "changing a facade by setattr": (
        "import math\nsetattr(math, 'pi', 3)\nescaped()",
        "cannot be set on a module",
    ),
    "changing the class of a facade": (
        "import math\ntype(math).pi = 3\nescaped()",
        "cannot be changed",
    ),
    "subclass of a facade": ("import math\nclass M(type(math)): pass\nescaped()", NO_BASE),
    "init of a facade": ("import math\nmath.__init__({})\nescaped()", "takes exactly one argument"),
    "changing a builtin type": ("str.x = 1\nescaped()", "cannot set 'x' attribute of immutable"),
}

FORMATS: dict[str, tuple[str, str]] = {
    "attribute in a format": ("'{0.real}'.format(1)\nescaped()", "a format cannot read attributes"),
    "attribute behind an item": (
        "'{0[0].real}'.format([1])\nescaped()",
        "a format cannot read attributes",
    ),
    "attribute in a nested specification": (
        "'{0:{1.real}}'.format(1, 2)\nescaped()",
        "a format cannot read attributes",
    ),
    "attribute in format_map": (
        "'{a.real}'.format_map({'a': 1})\nescaped()",
        "a format cannot read attributes",
    ),
    "attribute by the unbound method": (
        "str.format('{0.real}', 1)\nescaped()",
        "a format cannot read attributes",
    ),
    "attribute by a subclass": (
        "class S(str): pass\nS('{0.real}').format(1)\nescaped()",
        "a format cannot read attributes",
    ),
    "attribute by the subclass's unbound method": (
        "class S(str): pass\nS.format('{0.real}', 1)\nescaped()",
        "a format cannot read attributes",
    ),
    "attribute by super": (
        """
        class S(str):
            def go(self): return super().format(1)
        S("{0.real}").go()
        escaped()
        """,
        "a format cannot read attributes",
    ),
    "attribute by a generic alias": (
        "type(list[int])('{0.real}', ()).format(1)\nescaped()",
        "a format cannot read attributes",
    ),
    "attribute by an alias of a text class": (
        """
        from typing import Generic, TypeVar
        T = TypeVar("T")
        class S(str, Generic[T]): pass
        take(S[int].format)
        S[int].format("{0.real}", 1)
        escaped()
        """,
        "a format cannot read attributes",
    ),
    "attribute by map": (
        "list(map(str.format, ['{0.real}'], [1]))\nescaped()",
        "a format cannot read attributes",
    ),
    "attribute by partial": (
        "from functools import partial\npartial('{0.real}'.format, 1)()\nescaped()",
        "a format cannot read attributes",
    ),
    "item that is called like a dunder": ("'{0[__class__]}'.format({})\nescaped()", "KeyError"),
    "format class": ("from string import Formatter", "cannot import name 'Formatter'"),
}

GROUPS: dict[str, tuple[str, str]] = {
    "split of one's own in a group": (
        """
        class G(ExceptionGroup):
            def split(self, kind): return 5.5
        try:
            raise G("g", [ValueError()])
        except* ValueError:
            escaped()
        """,
        "plain exception groups only",
    ),
    "split of one's own on an instance": (
        """
        g = ExceptionGroup("g", [ValueError()])
        g.split = lambda kind: 5.5
        try:
            raise g
        except* ValueError:
            escaped()
        """,
        "plain exception groups only",
    ),
    "split of one's own set by the handler": (
        """
        g = ExceptionGroup("g", [ValueError()])
        def kind():
            g.split = lambda kind: 5.5
            return ValueError
        try:
            raise g
        except* kind():
            escaped()
        """,
        "plain exception groups only",
    ),
    "split of one's own set by the second handler": (
        """
        g = ExceptionGroup("g", [ValueError()])
        def kind():
            g.split = lambda kind: 5.5
            return ValueError
        try:
            raise g
        except* TypeError:
            escaped()
        except* kind():
            escaped()
        """,
        "plain exception groups only",
    ),
    "split of one's own in what is left": (
        """
        class G(ExceptionGroup):
            def split(self, kind): return 5.5
        g = ExceptionGroup("g", [ValueError(), TypeError()])
        g.derive = lambda some: G("left", some)
        try:
            raise g
        except* ValueError:
            pass
        except* TypeError:
            escaped()
        """,
        "plain exception groups only",
    ),
    "split of one's own in a generator": (
        """
        class G(ExceptionGroup):
            def split(self, kind): return 5.5
        def f():
            try:
                yield
            except* ValueError:
                escaped()
        one = f()
        next(one)
        one.throw(G("g", [ValueError()]))
        """,
        "plain exception groups only",
    ),
}

ATTEMPTS = {**STATIC, **NAMES_AT_RUN_TIME, **TYPES, **LIBRARIES, **FORMATS, **GROUPS}


class Secret:
    """Stands for any object of ours or of a library that user code can get hold of."""

    def __init__(self) -> None:
        self._hidden = "loot"

    def _method(self) -> str:
        return self.__deep

    @property
    def __deep(self) -> str:
        return self._hidden


class Below(Secret):
    @property
    def _hidden(self) -> str:
        return "loot"

    @_hidden.setter
    def _hidden(self, _new: str) -> None: ...


def attempt(source: str) -> tuple[list[str], str]:
    """Run an attempt; what it got hold of, and how it was refused."""
    taken: list[str] = []

    def take(value: Any) -> None:
        items = [value]
        if isinstance(value, (list, tuple)):
            items += value
        taken.extend(found for found in map(power_of, items) if found)

    names = {
        "below": Below(),
        "escaped": lambda: taken.append("what it wanted"),
        "record": record_of({"a": 1}),
        "secret": Secret(),
        "take": take,
    }
    try:
        run(dedent(source), names)
    except BaseException as error:
        return taken, f"{type(error).__name__}: {_whole_message(error)}"
    return taken, "nothing refused it"


def _whole_message(error: BaseException) -> str:
    if isinstance(error, BaseExceptionGroup):
        return " ".join([str(error), *map(_whole_message, error.exceptions)])
    return str(error)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_the_way_out_is_closed(name: str) -> None:
    """The attempt gets nothing, and is refused for the reason that is meant to stop it."""
    source, refused_by = ATTEMPTS[name]
    taken, refusal = attempt(source)
    assert taken == []
    assert refused_by in refusal


@pytest.mark.parametrize(
    "value",
    [pytest, (lambda: 0).__code__, type, eval, {"__builtins__": 1}, "{}".format, str.format],
)
def test_an_attempt_that_works_is_seen(value: Any) -> None:
    """The judge of this suite knows loot when it sees it."""
    assert power_of(value) is not None
