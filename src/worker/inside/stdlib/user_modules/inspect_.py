"""`inspect` of user space: what functions and classes of the program are, without their insides.

The library's `Signature` evaluates annotations, so these classes are our own.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from caps.worker.inside.stdlib.user_modules.native import (
    cleandoc,
    isabstract,
    isasyncgenfunction,
    isawaitable,
    iscoroutinefunction,
    isgeneratorfunction,
    signature_parts,
)

__all__ = [
    "cleandoc",
    "isabstract",
    "isasyncgenfunction",
    "isawaitable",
    "iscoroutinefunction",
    "isgeneratorfunction",
]


class _empty:  # noqa: N801 - the library's name
    """Marks a default or an annotation that is missing."""


class _Kind(int):
    """The kind of a parameter."""

    description = ""
    name = ""

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<_ParameterKind.{self.name}: {int(self)}>"


def _make_kinds() -> list[_Kind]:
    names = "POSITIONAL_ONLY POSITIONAL_OR_KEYWORD VAR_POSITIONAL KEYWORD_ONLY VAR_KEYWORD".split()
    texts = (
        "positional-only",
        "positional or keyword",
        "variadic positional",
        "keyword-only",
        "variadic keyword",
    )
    kinds = []
    for number, name in enumerate(names):
        kind = _Kind(number)
        kind.name, kind.description = name, texts[number]
        kinds.append(kind)
    return kinds


_kinds = _make_kinds()


class Parameter:
    """`inspect.Parameter`."""

    empty = _empty
    POSITIONAL_ONLY, POSITIONAL_OR_KEYWORD, VAR_POSITIONAL, KEYWORD_ONLY, VAR_KEYWORD = _kinds

    def __init__(
        self, name: str, kind: Any, *, default: Any = _empty, annotation: Any = _empty
    ) -> None:
        self.name = name
        self.kind = _kinds[kind]
        self.default = default
        self.annotation = annotation

    def replace(self, **changes: Any) -> Parameter:
        """The same parameter with changes."""
        options = {"default": self.default, "annotation": self.annotation, **changes}
        name, kind = options.pop("name", self.name), options.pop("kind", self.kind)
        return Parameter(name, kind, **options)

    def __str__(self) -> str:
        text = {2: "*", 4: "**"}.get(self.kind, "") + self.name
        if self.annotation is not _empty:
            text += f": {_shown(self.annotation)}"
        if self.default is not _empty:
            text += (
                f" = {self.default!r}" if self.annotation is not _empty else f"={self.default!r}"
            )
        return text

    def __repr__(self) -> str:
        return f'<Parameter "{self}">'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parameter) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.name, int(self.kind)))


def _shown(annotation: Any) -> str:
    if isinstance(annotation, type):
        home = annotation.__module__
        return (
            annotation.__qualname__ if home == "builtins" else f"{home}.{annotation.__qualname__}"
        )
    return repr(annotation).replace("typing.", "")


class BoundArguments:
    """`inspect.BoundArguments`."""

    def __init__(self, signature: Signature, arguments: dict[str, Any]) -> None:
        self.signature = signature
        self.arguments = arguments

    @property
    def args(self) -> tuple[Any, ...]:
        found: list[Any] = []
        for name, parameter in self.signature.parameters.items():
            if parameter.kind in (3, 4) or name not in self.arguments:
                break
            value = self.arguments[name]
            found += value if parameter.kind == 2 else [value]
        return tuple(found)

    @property
    def kwargs(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        by_name = False
        for name, parameter in self.signature.parameters.items():
            by_name = (
                by_name
                or parameter.kind == 3
                or (parameter.kind < 2 and name not in self.arguments)
            )
            if name in self.arguments and parameter.kind == 4:
                found.update(self.arguments[name])
            elif name in self.arguments and by_name:
                found[name] = self.arguments[name]
        return found

    def apply_defaults(self) -> None:
        """Add the defaults of what is missing."""
        missing: dict[int, Any] = {2: (), 4: {}}
        complete = {}
        for name, parameter in self.signature.parameters.items():
            if name in self.arguments:
                complete[name] = self.arguments[name]
            elif parameter.default is not _empty:
                complete[name] = parameter.default
            elif parameter.kind in missing:
                complete[name] = missing[parameter.kind]
        self.arguments = complete


class Signature:
    """`inspect.Signature`."""

    empty = _empty

    def __init__(self, parameters: Any = (), *, return_annotation: Any = _empty) -> None:
        self.parameters: Mapping[str, Parameter] = {one.name: one for one in parameters}
        self.return_annotation = return_annotation

    def bind(self, /, *args: Any, **kwargs: Any) -> BoundArguments:
        """What each parameter would get in a call."""
        return self._bind(args, kwargs, partial=False)

    def bind_partial(self, /, *args: Any, **kwargs: Any) -> BoundArguments:
        """The same, without an error for missing arguments."""
        return self._bind(args, kwargs, partial=True)

    def _bind(self, args: Any, kwargs: dict[str, Any], partial: bool) -> BoundArguments:
        given, named = list(args), dict(kwargs)
        bound: dict[str, Any] = {}
        for parameter in self.parameters.values():
            taken = _take(parameter, given, named)
            if taken is not _empty:
                bound[parameter.name] = taken
            elif parameter.default is _empty and parameter.kind not in (2, 4) and not partial:
                raise TypeError(f"missing a required argument: {parameter.name!r}")
        if given:
            raise TypeError("too many positional arguments")
        if named:
            raise TypeError(f"got an unexpected keyword argument {next(iter(named))!r}")
        return BoundArguments(self, bound)

    def replace(self, **changes: Any) -> Signature:
        """The same signature with changes."""
        parameters = changes.get("parameters", self.parameters.values())
        returned = changes.get("return_annotation", self.return_annotation)
        return Signature(parameters, return_annotation=returned)

    def __str__(self) -> str:
        texts = list(self._texts())
        returned = self.return_annotation
        arrow = "" if returned is _empty else f" -> {_shown(returned)}"
        return f"({', '.join(texts)}){arrow}"

    def _texts(self) -> Iterator[str]:
        before, starred = None, False
        for parameter in self.parameters.values():
            if before == 0 and parameter.kind != 0:
                yield "/"
            if parameter.kind == 3 and not starred:
                yield "*"
            starred = starred or parameter.kind in (2, 3)
            before = parameter.kind
            yield str(parameter)
        if before == 0:
            yield "/"

    def __repr__(self) -> str:
        return f"<Signature {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Signature) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(self.parameters))


def _take(parameter: Parameter, given: list[Any], named: dict[str, Any]) -> Any:
    """Take what a parameter gets from the arguments; `_empty` if that is nothing."""
    name, kind = parameter.name, int(parameter.kind)
    taken: Any = _empty
    if kind == 2 and given:
        taken = tuple(given)
        given.clear()
    elif kind == 4 and named:
        taken = dict(named)
        named.clear()
    elif kind < 2 and given:
        if name in named and kind == 1:
            raise TypeError(f"multiple values for argument {name!r}")
        taken = given.pop(0)
    elif kind in (1, 3) and name in named:
        taken = named.pop(name)
    return taken


def signature(obj: Any) -> Signature:
    """`inspect.signature` of a function, method or class of the program."""
    parts, (has_return, returned) = signature_parts(obj)
    parameters = [
        Parameter(
            name,
            kind,
            default=default if has_default else _empty,
            annotation=annotation if has_annotation else _empty,
        )
        for name, kind, has_default, default, has_annotation, annotation in parts
    ]
    return Signature(parameters, return_annotation=returned if has_return else _empty)


class FullArgSpec(NamedTuple):
    """`inspect.FullArgSpec`."""

    args: list[str]
    varargs: str | None
    varkw: str | None
    defaults: tuple[Any, ...] | None
    kwonlyargs: list[str]
    kwonlydefaults: dict[str, Any] | None
    annotations: dict[str, Any]


def getfullargspec(func: Any) -> FullArgSpec:
    """`inspect.getfullargspec`: also with the argument that a method gets by itself."""
    found = signature(func.__func__ if ismethod(func) else func)
    parameters = list(found.parameters.values())
    by_kind = {kind: [one for one in parameters if one.kind == kind] for kind in _kinds}
    positional = by_kind[_kinds[0]] + by_kind[_kinds[1]]
    star, by_name, double_star = (by_kind[kind] for kind in _kinds[2:])
    given = found.return_annotation
    annotations = {} if given is _empty else {"return": given}
    return FullArgSpec(
        (["self"] if isclass(func) else []) + [one.name for one in positional],
        star[0].name if star else None,
        double_star[0].name if double_star else None,
        tuple(one.default for one in positional if one.default is not _empty) or None,
        [one.name for one in by_name],
        {one.name: one.default for one in by_name if one.default is not _empty} or None,
        annotations
        | {one.name: one.annotation for one in parameters if one.annotation is not _empty},
    )


def isclass(obj: Any) -> bool:
    """Whether it is a class."""
    return isinstance(obj, type)


def isfunction(obj: Any) -> bool:
    """Whether it is a function that is written in Python."""
    return isinstance(obj, types.FunctionType)


def ismethod(obj: Any) -> bool:
    """Whether it is a bound method."""
    return isinstance(obj, types.MethodType)


def isbuiltin(obj: Any) -> bool:
    """Whether it is a built-in function."""
    return isinstance(obj, types.BuiltinFunctionType)


def isroutine(obj: Any) -> bool:
    """Whether it is any kind of function."""
    return isfunction(obj) or ismethod(obj) or isbuiltin(obj)


def ismodule(obj: Any) -> bool:
    """Whether it is a module."""
    return isinstance(obj, types.ModuleType)


def isgenerator(obj: Any) -> bool:
    """Whether it is a generator."""
    return isinstance(obj, types.GeneratorType)


def iscoroutine(obj: Any) -> bool:
    """Whether it is a coroutine."""
    return isinstance(obj, types.CoroutineType)


def isasyncgen(obj: Any) -> bool:
    """Whether it is an asynchronous generator."""
    return isinstance(obj, types.AsyncGeneratorType)


def getdoc(obj: Any) -> str | None:
    """The documentation of an object, without indentation."""
    text = obj.__doc__
    return cleandoc(text) if isinstance(text, str) else None


def getmro(cls: type) -> tuple[type, ...]:
    """The bases of a class."""
    return cls.__mro__


def getmembers(obj: Any, predicate: Callable[[Any], Any] | None = None) -> list[tuple[str, Any]]:
    """The attributes of an object that code can read."""
    found = []
    for name in sorted(dir(obj)):
        try:
            value = getattr(obj, name)
        except AttributeError:
            continue
        if predicate is None or predicate(value):
            found.append((name, value))
    return found
