"""Nothing of the interpreter, and nothing of ours, can be reached from user space.

The walk starts from all that a program has or can make: builtins, facades, `caps`, what the samples
make, an instance of every class that needs no arguments, and errors of every kind, both raised by
hand and raised inside the library by calls that make no sense.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from functools import reduce
from inspect import ismodule
from types import CoroutineType
from typing import Any

import pytest

from caps.worker.inside.aio.loop import Loop
from caps.worker.inside.caps_api.namespace import RequestSender
from caps.worker.inside.channel.channel import Channel
from caps.worker.inside.facades.allowlist import FACADES, offered_names
from caps.worker.inside.facades.facade import make_facade
from caps.worker.inside.language.compiler import Program, compile_source
from caps.worker.inside.language.guards import AttributeGuards, OwnClasses
from caps.worker.inside.stdlib.importer import Importer
from caps.worker.inside.stdlib.user_modules.table import USER_MODULES
from support.language_programs import make_globals, power_of
from support.reachable_values import Step, reachable
from support.user_space_values import SAMPLES, unconnected_caps

# What stands behind the objects that user space holds, and must stay there.
OURS = (AttributeGuards, RequestSender, Channel, Importer, Loop, OwnClasses, Program)

MODULES = (*FACADES, *USER_MODULES, "asyncio")

# Only the few chains that never end are longer.
STEPS = 12

# Arguments for errors that insist on some.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "BaseExceptionGroup": ("g", [ValueError("x")]),
    "ExceptionGroup": ("g", [ValueError("x")]),
    "UnicodeDecodeError": ("utf-8", b"x", 0, 1, "x"),
    "UnicodeEncodeError": ("utf-8", "x", 0, 1, "x"),
    "UnicodeTranslateError": ("x", 0, 1, "x"),
    "JSONDecodeError": ("x", "x", 0),
}


class Space:
    """A program's globals, and what it can start from."""

    def __init__(self, caps: Any) -> None:
        names = make_globals(Loop(lambda _timeout: None), [], {"caps": caps})
        self.builtins: dict[str, Any] = names["__builtins__"]
        self.read = self.builtins["getattr"]
        program = compile_source(SAMPLES)
        eval(program.code, names)
        self.held: dict[str, Any] = {
            **{name: value for name, value in names.items() if name.isidentifier()},
            **{name: value for name, value in self.builtins.items() if name.isidentifier()},
            "made": names[program.result_name],
        }
        del self.held["__builtins__"], self.held["__build_class__"], self.held["__import__"]
        load = self.builtins["__import__"]
        self.held |= {name: _submodule(load(name, names), name) for name in MODULES}

    def roots(self) -> dict[str, Any]:
        found = dict(self.held)
        for owner in ("", *MODULES):
            found.update(_made_from(owner, self._named_in(owner)))
        found.update(_raised(self.held))
        return found

    def _named_in(self, owner: str) -> dict[str, Any]:
        if not owner:
            return self.builtins
        return {name: getattr(self.held[owner], name) for name in dir(self.held[owner])}


def _submodule(top: Any, name: str) -> Any:
    """`os.path`, of `os`."""
    return reduce(getattr, name.split(".")[1:], top)


def _made_from(owner: str, named: Mapping[str, Any]) -> Iterator[Step]:
    """What calls without sense give or raise; functions of the loop would leave tasks behind."""
    for name, value in named.items():
        if not name.isidentifier() or not callable(value) or name.startswith("__"):
            continue
        if owner == "asyncio" and not isinstance(value, type):
            continue
        for shown, arguments in (("", ()), ("object()", (object(),)), ("int", (int,))):
            way = f"{owner}.{name}({shown})".lstrip(".")
            try:
                made = value(*arguments)
            except BaseException as error:
                yield f"error of {way}", error
            else:
                if isinstance(made, CoroutineType):
                    made.close()
                yield way, made


def _raised(held: Mapping[str, Any]) -> Iterator[Step]:
    """Errors of every kind, raised and caught while another is being handled."""
    for name, kind in held.items():
        if isinstance(kind, type) and issubclass(kind, BaseException):
            try:
                try:
                    raise LookupError("before")
                except LookupError as before:
                    raise kind(*ARGUMENTS.get(name, ("x",))) from before
            except BaseException as error:
                yield f"raised {name}", error


@pytest.fixture
def space() -> Iterator[Space]:
    with unconnected_caps() as caps:
        yield Space(caps)


def _loot(value: Any, dictionaries: Mapping[int, str]) -> str | None:
    """What must not be reached, named."""
    if id(value) in dictionaries:
        return f"the globals of {dictionaries[id(value)]}"
    if isinstance(value, OURS):
        return f"our own {type(value).__name__}"
    return power_of(value)


def test_nothing_powerful_can_be_reached_from_user_space(space: Space) -> None:
    """No module, frame, code, globals, real `type`, and nothing that our objects stand on."""
    loaded: dict[str, Any] = dict(sys.modules)  # not all that stands there is a module
    modules = {id(vars(one)): name for name, one in loaded.items() if ismodule(one)}
    roots = space.roots()
    walked = list(reachable(roots, space.read, steps=STEPS))
    assert len(walked) > 5_000
    found = {way: _loot(value, modules) for way, value in walked}
    assert {way: loot for way, loot in found.items() if loot} == {}


def test_the_walk_starts_from_errors_of_every_kind_and_from_instances(space: Space) -> None:
    """Every error that code can name is raised, and most classes have an instance."""
    roots = space.roots()
    kinds = {name for name, kind in space.builtins.items() if _is_error(kind)}
    assert {f"raised {name}" for name in kinds} <= roots.keys()
    for way in ("int()", "collections.Counter()", "random.Random()", "error of math.sqrt()"):
        assert way in roots
    assert len(roots) > 1000


def test_the_walk_starts_from_every_name_of_every_facade(space: Space) -> None:
    """Also from those that this version of Python has added; what can be called is called."""
    roots = space.roots()
    for module in FACADES:
        names = offered_names(module, importlib.import_module(module))
        for name in names:
            value = getattr(space.held[module], name)
            if callable(value) and not name.startswith("__"):
                ways = {f"{module}.{name}()", f"error of {module}.{name}()"}
                assert ways & roots.keys(), f"{module}.{name}"
    for module, names_of_module in USER_MODULES.items():
        offered = {name for name in names_of_module.split() if hasattr(space.held[module], name)}
        assert offered <= space._named_in(module).keys()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("textwrap", "re"),  # a module
        ("dataclasses", "types"),
        ("enum", "EnumType"),  # a metaclass
        ("types", "FunctionType"),  # it makes functions of code
        ("types", "CodeType"),
    ],
)
def test_the_walk_finds_a_dangerous_name_that_a_facade_offers(
    space: Space, module: str, name: str
) -> None:
    """Adding it to the list of a module is enough to be seen."""
    real = importlib.import_module(module)
    names = [*offered_names(module, real), name]
    facade = make_facade(module, {one: getattr(real, one) for one in names})
    walked = reachable({module: facade}, space.read, steps=2)
    assert f"{module}.{name}" in {way for way, value in walked if _loot(value, {})}


def _is_error(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseException)


@pytest.mark.parametrize(
    ("holder", "way"),
    [
        ({"a": [sys]}, "list(x['a'])[0]"),
        (({1: {2: sys}},), "list(x)[0][1][2]"),
        (map(list, [[sys]]), "list(list(x)[0])[0]"),
        (type("Hidden", (), {"__dir__": lambda self: [], "open": sys})(), "x.open"),
    ],
)
def test_the_walk_finds_what_is_there(holder: Any, way: str) -> None:
    """Items, what iterating gives and attributes that `dir` denies are all steps."""
    read = AttributeGuards(OwnClasses()).getattr
    walked = reachable({"x": holder}, read, steps=3)
    assert next(at for at, value in walked if value is sys) == way
