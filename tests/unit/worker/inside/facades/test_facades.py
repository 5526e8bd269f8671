"""Facades hold what the table says and nothing that leads further."""

from __future__ import annotations

import importlib

import pytest

from caps.worker.inside.aio.loop import Loop
from caps.worker.inside.channel.output import OutputStreams
from caps.worker.inside.errors.report import message_of
from caps.worker.inside.facades.allowlist import (
    ENCODINGS,
    FACADES,
    MODULE_ALTERNATIVES,
    NEWER_NAMES,
)
from caps.worker.inside.facades.facade import Facade
from caps.worker.inside.language.builtins_ import make_builtins
from caps.worker.inside.language.guards import AttributeGuards, OwnClasses
from caps.worker.inside.stdlib.importer import Importer, load_facades
from caps.worker.inside.stdlib.replacements import REPLACEMENTS
from caps.worker.inside.stdlib.user_modules.table import USER_MODULES
from support.language_programs import make_globals, power_of, run
from support.reachable_values import reachable
from support.user_space_values import SAMPLES, unconnected_caps


def test_nothing_powerful_can_be_reached_from_user_space() -> None:
    """From everything that a program starts with or can make, by the guards of another program."""
    with unconnected_caps() as caps:
        names = make_globals(Loop(lambda _timeout: None), [], {"caps": caps})
        importer = names["__builtins__"]["__import__"]
        modules = {name: importer(name) for name in [*FACADES, *REPLACEMENTS, "asyncio"]}
        held = {**names["__builtins__"], "caps": caps, "made": run(SAMPLES).value, **modules}
        roots = {name: one for name, one in held.items() if name.isidentifier() and name[0] != "_"}
        read = AttributeGuards(OwnClasses()).getattr
        walked = list(reachable(roots, read, steps=4))
        assert len(walked) > 5_000
        powers = {way: power_of(value) for way, value in walked}
        assert {way: power for way, power in powers.items() if power} == {}


@pytest.mark.parametrize("module", FACADES)
def test_every_name_of_the_table_is_there(module: str) -> None:
    """The oldest Python that is supported has every name; a misspelt one fails here."""
    real = importlib.import_module(module)
    names = FACADES[module].split()
    assert [name for name in names if not hasattr(real, name)] == []
    newer = [name for name in NEWER_NAMES.get(module, "").split() if hasattr(real, name)]
    assert dir(load_facades()[module]) == sorted({*names, *newer})
    assert len({*names, *newer}) == len(names) + len(newer)


@pytest.mark.parametrize("module", FACADES)
def test_no_name_of_a_facade_is_a_module(module: str) -> None:
    """A module would hold everything that it imports itself."""
    facade = load_facades()[module]
    assert [name for name in dir(facade) if power_of(getattr(facade, name))] == []


@pytest.mark.parametrize("module", FACADES)
def test_a_facade_cannot_be_changed(module: str) -> None:
    """Neither setting nor deleting works, on the facade and on its class."""
    facade = load_facades()[module]
    name = dir(facade)[0]
    before = getattr(facade, name)
    for target in (facade, type(facade)):
        for changed in (name, "new"):
            with pytest.raises(AttributeError, match="cannot be set on a module"):
                setattr(target, changed, 1)
        with pytest.raises(AttributeError, match="cannot be deleted from a module"):
            delattr(target, name)
    assert getattr(facade, name) is before


def test_a_missing_name_says_whose_it_is() -> None:
    """The message that is shown names the module and the attribute."""
    with pytest.raises(AttributeError) as caught:
        run("import math\nmath.nothing")
    assert message_of(caught.value).startswith("module 'math' has no attribute 'nothing' here")


@pytest.mark.parametrize("module", ["io", "os", "os.path", "pathlib", "urllib"])
def test_what_would_be_a_capability_says_so_at_once(module: str) -> None:
    """Code that asks for files or the network often prints the error that it catches."""
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'nothing' here"):
        run(f"import {module}\n{module}.nothing")


def test_what_user_code_says_of_a_module_is_left_alone() -> None:
    """Only the interpreter's own message is replaced, and no user code is called for it."""

    class Odd(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("asked")

        __hash__ = str.__hash__

    math = load_facades()["math"]
    usual = "'math' object has no attribute 'sqr'"
    for error in (
        AttributeError("mine", obj=math, name="sqr"),
        AttributeError(usual, name="sqr"),
        AttributeError(usual, obj=math),
        AttributeError(usual, obj=math, name=Odd("sqr")),
        AttributeError(Odd(usual), obj=math, name="sqr"),
        AttributeError(usual, 2, obj=math, name="sqr"),
        AttributeError(obj=math, name="sqr"),
        KeyError(usual),
    ):
        assert message_of(error) == str(error)
    assert "did you mean `sqrt`" in message_of(AttributeError(usual, obj=math, name="sqr"))


def test_a_refused_import_names_what_there_is() -> None:
    """The message lists the modules that can be imported, and none of the interpreter's own."""
    with pytest.raises(ModuleNotFoundError) as caught:
        run("import numpy")
    message = str(caught.value)
    granted = 'if it is installed, a policy can grant it: "modules": ["numpy"]'
    assert message.startswith(f"`numpy` cannot be imported here; {granted}; available: ")
    offered = sorted({*FACADES, *REPLACEMENTS, *USER_MODULES, "asyncio"})
    assert message.partition("available: ")[2].split(", ") == offered
    assert caught.value.name == "numpy"


@pytest.mark.parametrize("module", MODULE_ALTERNATIVES)
def test_a_refused_import_names_the_capability_that_would_do(module: str) -> None:
    """If it is built in; of others it says only what is not there."""
    instead = MODULE_ALTERNATIVES[module]
    found = f"`caps.{instead}` instead" if instead.startswith("files.") else "there is no network"
    with pytest.raises(ModuleNotFoundError, match=found):
        run(f"import {module}.anything")


def test_each_execution_has_facades_of_its_own_where_classes_matter() -> None:
    """What one execution adopts is nothing to another."""
    first, second = OwnClasses(), OwnClasses()
    made = Importer(first, {})("collections").namedtuple("P", "x")
    assert first.is_own(made)
    assert not second.is_own(made)


def test_the_importer_gives_facades_only() -> None:
    """Whatever can be imported is a facade, never a module."""
    importer = Importer(OwnClasses(), {})
    names = [*FACADES, *REPLACEMENTS, "__future__", "_strptime", "_pylong"]
    assert all(isinstance(importer(name), Facade) for name in names)


def test_the_builtins_hold_no_power() -> None:
    """No value of the builtins dictionary that code can name is one."""
    own = OwnClasses()
    held = make_builtins(OutputStreams().stdout, Importer(own, {}), own)
    named = {name: value for name, value in held.items() if name.isidentifier()}
    assert {name: power_of(value) for name, value in named.items() if power_of(value)} == {}


@pytest.mark.parametrize("encoding", ENCODINGS.split())
def test_text_can_be_encoded(encoding: str) -> None:
    """Each encoding of the table works in user space."""
    assert run(f"'a'.encode({encoding!r}).decode({encoding!r})").value == "a"
