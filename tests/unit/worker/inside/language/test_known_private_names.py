"""Which private names need no guard: those that nothing loaded has, once that is known."""

from __future__ import annotations

import ast
import gc
import json
import os
import subprocess
import sys
import types
from collections.abc import Iterator

import pytest

from caps.protocol.errors import ProtocolError
from caps.worker.inside.channel.channel import Channel
from caps.worker.inside.language.compiler import Program, compile_source
from caps.worker.inside.language.identifiers import is_private
from caps.worker.inside.language.known_private_names import private_names
from caps.worker.inside.language.transformer import Transformer
from caps.worker.inside.runner.user_space import UserSpace

# What a separate process knows once names are recorded; this one never does.
LEARNT = """
import json, sys
from caps.worker.inside.language.compiler import compile_source
from caps.worker.inside.stdlib.importer import load_facades
from caps.worker.inside.language.known_private_names import is_unused_name, record_loaded_names
load_facades()
before = is_unused_name(sys.stdin.readline().strip())
record_loaded_names()
sources = json.loads(sys.stdin.readline())
print(json.dumps([before, [sorted(compile_source(source).unguarded) for source in sources]]))
"""


class Sample:
    """Has a private name of every kind that a library may have."""

    _of_the_class = 1

    def __init__(self) -> None:
        self._of_the_instance = 1
        setattr(self, "_by_a_text_alone", 1)  # noqa: B010 - what is to be found
        for name in ("_from_a_list", "_and_its_rest"):
            setattr(self, name, 1)
        self.__mangled = 1
        vars(self).update(_by_keyword=1)
        template = "def f(self): self._in_a_template = 1"
        exec(template, {})

    @property
    def _computed(self) -> int:
        return self.__mangled


class Slotted:
    __slots__ = ("_in_a_slot",)


@pytest.fixture(scope="module", autouse=True)
def everything_is_tracked() -> Iterator[None]:
    """Also what was loaded before the first test, which is frozen."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.fixture(scope="module")
def held() -> frozenset[str]:
    gc.collect()  # objects of programs that earlier tests ran, whose code is gone already
    return private_names()


@pytest.mark.parametrize(
    "name",
    [
        "_of_the_class",
        "_of_the_instance",
        "_by_a_text_alone",
        "_from_a_list",
        "_and_its_rest",
        "_Sample__mangled",
        "_by_keyword",
        "_in_a_template",
        "_computed",
        "_in_a_slot",
        "_asdict",
        "_randbelow",
        "_abc_impl",
    ],
)
def test_a_name_of_a_library_is_known(held: frozenset[str], name: str) -> None:
    """However it comes to be an attribute."""
    assert name in held


def test_no_class_or_object_has_a_private_name_that_is_not_known(held: frozenset[str]) -> None:
    """Of all that is loaded here, which is far more than a worker has."""
    Sample()
    found = {name for name in _attributes() if is_private(name)}
    # Tests of the adapters load it. It sets attributes by texts of modules; no worker loads it.
    found = {name for name in found if not name.startswith("__beartype_")}
    assert len(found) > 1000
    assert found - held == set()


def _attributes() -> Iterator[str]:
    for one in gc.get_objects():
        if issubclass(type(one), type):  # not a proxy, which says that it is
            for owner in type.__dict__["__mro__"].__get__(one):
                yield from (name for name in vars(owner) if type(name) is str)
        elif type(one) is types.ModuleType or type(type(one)) is type:
            held = getattr(one, "__dict__", None) if _is_plain(one) else None
            yield from (name for name in held or () if type(name) is str)


def _is_plain(one: object) -> bool:
    """Whether reading its attributes runs none of its own code."""
    return type(one).__getattribute__ is object.__getattribute__ and not hasattr(
        type(one), "__getattr__"
    )


@pytest.mark.process
def test_only_names_that_nothing_has_go_without_a_guard() -> None:
    """In a process that learnt what is loaded; before it did, none."""
    sources = [
        "class C:\n    def f(self, x): self._unheard = x._never_met; del x._unheard",
        "x._randbelow, x._asdict, x._unheard",
        "class Random:\n    def f(self): return self.__hidden_here",
        "eval('x._unheard')",
    ]
    given = "_unheard\n" + json.dumps(sources) + "\n"
    done = subprocess.run(
        [sys.executable, "-I", "-c", LEARNT],
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    before, unguarded = json.loads(done.stdout)
    assert before is False
    assert unguarded == [["_never_met", "_unheard"], ["_unheard"], ["_Random__hidden_here"], []]


def test_where_nothing_was_learnt_everything_is_guarded() -> None:
    """This process has not, so that its code asks whose an object is."""
    program = compile_source("x._unheard_of")
    assert program.unguarded == frozenset()
    assert "_unheard_of" in program.private_names
    assert "<own>" in program.code.co_names


def test_code_that_was_compiled_beside_other_libraries_does_not_run() -> None:
    """A name that no library used there may be a library's here."""
    ours, theirs = os.pipe()
    try:
        space = UserSpace(Channel(ours), {}, restricted=True)
        code = compile(ast.parse("1"), "<agent>", "exec")
        foreign = Program(code, "<agent>", ("1",), unguarded=frozenset({"_unheard_of"}))
        with pytest.raises(ProtocolError, match="not compiled for this worker"):
            space.begin(foreign)
        space.begin(Program(code, "<agent>", ("1",), unguarded=frozenset()))
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("head", ["b.__x", "B, got=b.__x", "B, got=[__x for b in c]"])
def test_a_private_name_in_the_head_of_a_generic_class_is_refused(head: str) -> None:
    """Its class depends on the Python version, and so does the owner of the name."""
    tree = ast.parse(f"class A({head}): pass")
    plain = Transformer()
    plain.visit(ast.parse(f"class A({head}): pass"))
    assert plain.refusals == []
    tree.body[0].type_params = [ast.Name("T", ast.Load())]  # type: ignore[attr-defined]
    generic = Transformer()
    generic.visit(tree)
    assert [one.message for one in generic.refusals] == ["`__x` in the head of a generic class"]
