"""What user space gets from its library: hints, captured output, errors, warnings."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from caps.protocol.messages import ManifestEntry, ManifestMessage
from caps.worker.inside.caps_api.namespace import build_namespace
from caps.worker.inside.channel.channel import Channel
from caps.worker.inside.errors.report import message_of
from caps.worker.inside.facades.alternatives import remember_granted
from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.stdlib.importer import Importer
from caps.worker.inside.stdlib.sys_os_time import MAX_RECURSION
from caps.worker.inside.stdlib.zoneinfo_ import load_time_zones
from support.language_programs import run


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("import math\nmath.sqr(2)", "has no attribute 'sqr' here; did you mean `sqrt`?"),
        ("from math import sqr", "cannot import name 'sqr' from 'math' here; did you mean `sqrt`?"),
        ("import os\nos.listdir('.')", "here; a policy may grant `caps.files.list` instead"),
        ("import os.path\nos.path.exists('.')", "a policy may grant `caps.files.stat` instead"),
        ("from pathlib import Path", "a policy may grant `caps.files.read` instead"),
        ("import copy\ncopy.zzz", "has no attribute 'zzz' here; it has Error, copy, deepcopy"),
        ("import colections", "`colections` cannot be imported here; did you mean `collections`?"),
        ("import urllib.request", "here; there is no network here"),
        ("import requests", "here; there is no network here"),
        ("import pandas", 'if it is installed, a policy can grant it: "modules": ["pandas"]'),
        ("import ctypes", "`ctypes` cannot be imported here; no library of the system"),
        ("import os\nos.rename", "; a policy may grant `caps.files.move` instead"),
        ("import collectionz", "did you mean `collections`?"),
        ("import logging.handlers", "`logging.handlers` cannot be imported here; records go to"),
        ("import logging.config", "use `logging.basicConfig`"),
        ("import pickle", 'use `json`, or `copy.deepcopy` for a copy; a policy can grant it: "mod'),
        ("import subprocess", "here; there are no other processes here; available: "),
        ("from xml.dom import minidom", "use `xml.etree.ElementTree`"),
        ("from unittest import mock", "write a class or a function of your own in its place"),
        ("import email", '; a policy can grant it: "modules": ["email"]; available: '),
        ("import sys\nsys.stdin", "the caller can give values as `inputs`"),
        ("import threading\nthreading.Timer", "use `asyncio.sleep` in a task"),
    ],
)
def test_what_is_missing_comes_with_a_hint(source: str, hint: str) -> None:
    """The nearest name, or the capability that does the same."""
    with pytest.raises((AttributeError, ImportError)) as caught:
        run(source)
    assert hint in message_of(caught.value)


def test_a_refused_import_names_what_is_granted_already() -> None:
    """Code that may fetch gets that hint, with the name of the namespace."""
    entry = ManifestEntry.of(name="web.fetch", title="fetch", description="fetches", schema_in={})
    manifest = ManifestMessage(
        id="m1",
        timestamp=1.0,
        execution_id="e1",
        namespace="powers",
        policy_id="p",
        capabilities=[entry],
    )
    powers = build_namespace(manifest, Channel(0), 1)
    importer = Importer(OwnClasses(), {})
    importer.add_namespace("powers", powers)
    remember_granted("powers", [entry.name])
    with pytest.raises(ModuleNotFoundError, match=r"; use `powers\.web\.fetch` instead"):
        importer("requests")
    with pytest.raises(ModuleNotFoundError, match=r"may grant `caps\.files\.list` instead"):
        importer("glob")
    without = "write `powers.web` without an import, or `from powers import web`"
    for name in ("powers.web", "powers.web.fetch", "caps.web"):
        with pytest.raises(ModuleNotFoundError, match=f"^`{name}` .* here; {without}$"):
            importer(name)
    for name in ("caps", "caps.files", "powers.files"):
        with pytest.raises(ModuleNotFoundError, match=r"is in `powers`, without an import$"):
            importer(name)
    lacks = r"'find' from 'powers' here; `find` is not granted by policy `p`; granted: web"
    with pytest.raises(ImportError, match=lacks):
        importer("powers", None, None, ("web", "find"))
    assert importer("powers", None, None, ("web",)) is importer("powers") is powers
    remember_granted("powers", [])


def test_an_absent_private_name_has_no_hint() -> None:
    """What libraries probe for is answered without a search."""
    with pytest.raises(AttributeError) as caught:
        Importer(OwnClasses(), {})("math").__wrapped__  # noqa: B018
    assert message_of(caught.value) == "module 'math' has no attribute '__wrapped__' here"


PRINTING = {
    "sys.stdout": ("import sys\nsys.stdout.write('a')\nsys.stdout.writelines(['b', 'c'])", "abc"),
    "sys.stderr": ("import sys\nprint('a', file=sys.stderr, flush=True)", "a\n"),
    "pprint": ("import pprint\npprint.pprint({'b': 1, 'a': 2})", "{'a': 2, 'b': 1}\n"),
    "pp": ("import pprint\npprint.pp({'b': 1, 'a': 2})", "{'b': 1, 'a': 2}\n"),
    "a printer": ("import pprint\npprint.PrettyPrinter().pprint([1])", "[1]\n"),
    "an error": (
        "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError:\n    traceback.print_exc()",
        "Traceback (most recent call last):\n"
        '  File "<agent>", line 3, in <module>\n    1 / 0\n'
        "ZeroDivisionError: division by zero\n",
    ),
    "a warning": (
        "import warnings\nwarnings.warn('careful')",
        "<agent>:2: UserWarning: careful\n  warnings.warn('careful')\n",
    ),
    "a warning about the caller": (
        "import warnings as w\ndef f():\n    w.warn('old', DeprecationWarning, stacklevel=2)\nf()",
        "<agent>:4: DeprecationWarning: old\n  f()\n",
    ),
    "a warning once for each place": (
        "import warnings\nfor n in range(3):\n    warnings.warn('again')\nwarnings.warn('again')",
        "<agent>:3: UserWarning: again\n  warnings.warn('again')\n"
        "<agent>:4: UserWarning: again\n  warnings.warn('again')\n",
    ),
    "a warning that nobody wants": (
        "import warnings\nwarnings.filterwarnings('ignore')\nwarnings.warn('careful')",
        "",
    ),
    "a redirection in another": (
        "import contextlib, io\na, b = io.StringIO(), io.StringIO()\n"
        "with contextlib.redirect_stdout(a):\n    print('a')\n"
        "    with contextlib.redirect_stdout(b):\n        print('b')\n    print('a')\n"
        "print([a.getvalue(), b.getvalue()])",
        "['a\\na\\n', 'b\\n']\n",
    ),
    "a redirection that an error ends": (
        "import contextlib, io\ntry:\n    with contextlib.redirect_stdout(io.StringIO()):\n"
        "        raise ValueError\nexcept ValueError:\n    print('back')",
        "back\n",
    ),
}


@pytest.mark.parametrize("name", PRINTING)
def test_what_is_printed_is_captured(name: str) -> None:
    """Whatever prints ends in the same output, or where the code sent it."""
    source, printed = PRINTING[name]
    assert run(source).printed == printed


def test_the_text_of_an_error_has_the_users_frames_and_causes_only() -> None:
    """Frames of a library are left out; `chain` and `format_exception_only` leave out more."""
    source = (
        "import json, traceback\ndef load(text):\n    return json.loads(text)\ntry:\n    try:\n"
        "        load('{')\n    except ValueError as e:\n        raise KeyError('k') from e\n"
        "except KeyError as e:\n    found = [traceback.format_exc(),"
        " traceback.format_exc(chain=False), traceback.format_exception_only(e)]\nfound"
    )
    whole, last, bare = run(source).value
    assert "in load\n    return json.loads(text)\n" in whole
    assert "direct cause" in whole
    assert "json/decoder" not in whole
    assert "direct cause" not in last
    assert last.endswith("KeyError: 'k'\n")
    assert bare == ["KeyError: 'k'\n"]


def test_a_hint_that_is_text_is_evaluated_like_the_program() -> None:
    """Its names are those of the program, and of the class."""
    source = (
        "import typing\n"
        "class C:\n"
        "    class D: pass\n"
        "    x: 'list[C]'\n"
        "    y: typing.Optional['D']\n"
        "hints = typing.get_type_hints(C)\n"
        "hints == {'x': list[C], 'y': typing.Optional[C.D]}"
    )
    assert run(source).value is True


def test_a_hint_with_an_unknown_name_raises() -> None:
    """As in the library."""
    source = "import typing\nclass C:\n    x: 'Unknown'\ntyping.get_type_hints(C)"
    with pytest.raises(NameError, match="Unknown"):
        run(source)


def test_a_hint_that_reaches_into_the_interpreter_is_refused() -> None:
    """Text goes through the same compiler as the program."""
    source = "import typing\ndef f(x: 'print.__self__.x'): ...\ntyping.get_type_hints(f)"
    with pytest.raises(AttributeError, match="__self__"):
        run(source)
    with pytest.raises(SyntaxError, match="__globals__"):
        run(source.replace("print.__self__.x", "f.__globals__"))


def test_the_recursion_limit_ends_where_the_stack_does() -> None:
    """A higher limit means the highest that is safe."""
    before = sys.getrecursionlimit()
    try:
        source = "import sys\nsys.setrecursionlimit(10**6)\nsys.getrecursionlimit()"
        assert run(source).value == MAX_RECURSION
    finally:
        sys.setrecursionlimit(before)


def test_a_zone_that_does_not_exist_names_the_nearest() -> None:
    """And asking again gives the same answer."""
    for _ in range(2):
        with pytest.raises(KeyError, match="did you mean `Europe/Berlin`"):
            run("from zoneinfo import ZoneInfo\nZoneInfo('Europe/Berln')")


def test_every_zone_can_be_used() -> None:
    """All tables that were read are sound."""
    names = {"keys": sorted(load_time_zones())}
    source = (
        "from zoneinfo import ZoneInfo\nfrom datetime import datetime\n"
        "[datetime(2024, 7, 1, tzinfo=ZoneInfo(key)).utcoffset() is None for key in keys]"
    )
    assert run(source, names).value == [False] * len(names["keys"])
    assert len(names["keys"]) > 400


def test_deep_copies_of_a_time_keep_its_zone() -> None:
    """A zone is itself wherever it is copied to."""
    source = (
        "import copy\nfrom zoneinfo import ZoneInfo\nfrom datetime import datetime\n"
        "d = datetime(2024, 1, 1, tzinfo=ZoneInfo('Asia/Tokyo'))\n"
        "[copy.deepcopy([d])[0].tzinfo is d.tzinfo, copy.copy(d.tzinfo) is d.tzinfo]"
    )
    assert run(source).value == [True, True]


@pytest.mark.parametrize(
    "source",
    [
        "import array\narray.array('i', [1.5])",
        "import array\narray.array('i', ['a'])",
        "import array\narray.array('d', [1]) + [1]",
        "import array\na = array.array('i')\na.extend(array.array('d', [1.0]))",
        "import array\n{array.array('i'): 1}",
    ],
)
def test_an_array_refuses_what_the_librarys_refuses(source: str) -> None:
    """The wrong kind of item is a TypeError."""
    with pytest.raises(TypeError):
        run(source)


def test_facades_share_what_has_no_stand_in_and_nothing_else() -> None:
    """Two executions never share an object that one of them could change."""
    first, second = (Importer(OwnClasses(), {}) for _ in range(2))
    assert first("math") is second("math")
    changed: Any = [first(name) for name in ("os", "sys", "warnings", "types")]
    assert [one is second(type(one).__name__) for one in changed] == [False] * 4
    assert first("os").environ is not second("os").environ
    assert first("sys").argv is not second("sys").argv
