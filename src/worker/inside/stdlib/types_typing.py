"""(4) `types` and `typing`: introspection of types without access to the real, dangerous ones.

types.FunctionType, …       create functions and frames from code: here only for `isinstance`
types.SimpleNamespace       accepts any attribute name, also `__deepcopy__`: here names are checked
typing.get_type_hints       evaluates annotations that are strings: here `type_hints` does
typing.OrderedDict, …       create the library's own dictionaries: see `c_types`
typing.get_origin, get_args return the real `type`: here its opaque type
typing.ForwardRef.evaluate  evaluates any text (Python 3.14): here it stays a reference
typing.Type[x] == y         compares the real `type` with any object behind `y`: here by identity
"""

from __future__ import annotations

import inspect
import reprlib
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any

from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.language.identifiers import refusal
from caps.worker.inside.language.opaque_types import shown_type
from caps.worker.inside.language.private_attributes import OWN_GUARD
from caps.worker.inside.language.reflection import is_users_function
from caps.worker.inside.stdlib.c_types.default_dict import defaultdict
from caps.worker.inside.stdlib.c_types.ordered_dict import OrderedDict
from caps.worker.inside.stdlib.class_makers.type_hints import HintEvaluator, without_extras
from caps.worker.inside.stdlib.context import StdlibContext

_SHOWN_TYPES = (
    "AsyncGeneratorType BuiltinFunctionType BuiltinMethodType CellType CodeType CoroutineType "
    "FrameType FunctionType GeneratorType LambdaType MappingProxyType MethodType ModuleType "
    "TracebackType"
)


_Alias: Any = typing._GenericAlias  # type: ignore[attr-defined]

# As in `annotationlib.Format`: a reference may stay what it is.
_FORWARDREF = 3


def restrict_aliases() -> None:
    """Have aliases compare what they stand for by identity. Runs in the zygote."""
    _Alias.__eq__ = _is_same_alias


def restrict_forward_references() -> None:
    """Have forward references evaluate text for the library only. Runs in the zygote."""
    library: Any = typing
    evaluate = getattr(library.ForwardRef, "evaluate", None)  # from Python 3.14 on
    if evaluate is not None and evaluate.__module__ != __name__:
        library.ForwardRef.evaluate = _restricted_evaluate(
            evaluate, library.evaluate_forward_ref.__code__
        )


def _restricted_evaluate(library_evaluate: Any, caller: types.CodeType) -> Any:
    """`ForwardRef.evaluate`, which evaluates only if it is called by the code `caller`.

    User space cannot call that, but our own messages need it.
    """

    def evaluate(self: Any, *, format: Any = 1, **options: Any) -> Any:  # noqa: A002
        if sys._getframe(1).f_code is caller:
            return library_evaluate(self, format=format, **options)
        if format == _FORWARDREF:
            return self
        raise TypeError("a forward reference is not evaluated in the sandbox")

    return evaluate


def _is_same_alias(self: Any, other: Any) -> Any:
    if not isinstance(self, _Alias) or not isinstance(other, _Alias):
        return NotImplemented
    return self.__origin__ is other.__origin__ and self.__args__ == other.__args__


def types_names(context: StdlibContext) -> dict[str, Any]:
    """The replacements in `types`."""
    shown = {name: shown_type(getattr(types, name)) for name in _SHOWN_TYPES.split()}
    return {**shown, "SimpleNamespace": _simple_namespace(context.own)}


def _simple_namespace(own: OwnClasses) -> type:
    """A class that counts as the user's own: `vars` and private names work on its instances."""

    class SimpleNamespace:
        """`types.SimpleNamespace`."""

        # User code can call each method with any object, whose `__dict__` it must not reach.

        def __init__(self, /, *mapping: Any, **names: Any) -> None:
            _check_is(self, SimpleNamespace)
            if mapping:
                names = {**_initial_names(*mapping), **names}
            for name in names:
                # A subclass of str could give one name here and another one later.
                if type(name) is not str:
                    raise TypeError("attribute name must be a string")
                message = refusal(name)
                if message is not None:
                    raise AttributeError(message)
            self.__dict__.update(names)

        @reprlib.recursive_repr("namespace(...)")
        def __repr__(self) -> str:
            _check_is(self, SimpleNamespace)
            attributes = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
            kind = "namespace" if type(self) is SimpleNamespace else type(self).__name__
            return f"{kind}({attributes})"

        def __eq__(self, other: object) -> bool:
            _check_is(self, SimpleNamespace)
            if not isinstance(other, SimpleNamespace):
                return NotImplemented
            return self.__dict__ == other.__dict__

        __hash__ = None  # type: ignore[assignment]

        def __replace__(self, /, **changes: Any) -> SimpleNamespace:
            """For `copy.replace`, from Python 3.13 on."""
            _check_is(self, SimpleNamespace)
            made = type(self)()
            _check_is(made, SimpleNamespace)
            made.__dict__.update(self.__dict__)
            SimpleNamespace.__init__(made, **changes)
            return made

    # From here on it counts as the user's own class, and user code may derive from it.
    SimpleNamespace.__module__ = "types"
    SimpleNamespace.__qualname__ = "SimpleNamespace"
    registered: type = own.register(SimpleNamespace)
    return registered


def _initial_names(*mapping: Any) -> dict[str, Any]:
    """The names in a mapping, or in pairs, which Python takes from 3.13 on."""
    most = int(sys.version_info >= (3, 13))
    if len(mapping) > most:
        raise TypeError(
            f"SimpleNamespace expected at most {most} argument, got {len(mapping)}"
            if most
            else "no positional arguments expected"
        )
    return dict(*mapping)


def _check_is(value: object, kind: type) -> None:
    if kind not in type(value).__mro__:
        raise TypeError(f"a `{kind.__name__}` was due, not a `{type(value).__name__}`")


def typing_names(context: StdlibContext) -> dict[str, Any]:
    """The replacements in `typing`."""
    own = context.own

    def get_type_hints(
        obj: Any,
        globalns: Any = None,
        localns: Any = None,
        include_extras: bool = False,
    ) -> dict[str, Any]:
        """`typing.get_type_hints`."""
        caller = sys._getframe(1).f_builtins
        hints: dict[str, Any] = {}
        for kind, found, is_class in _annotations(own, obj):
            names = _names_for(context, kind, globalns, localns, caller) if found else None
            for name, hint in found.items():
                hints[name] = hint if names is None else names.type_of_hint(hint, is_class=is_class)
        shown = hints if include_extras else {n: without_extras(one) for n, one in hints.items()}
        return {name: _opaque_if_type(hint) for name, hint in shown.items()}

    library: Any = typing
    return {
        "DefaultDict": library._SpecialGenericAlias(defaultdict, 2, name="DefaultDict"),
        "OrderedDict": library._SpecialGenericAlias(OrderedDict, 2, name="OrderedDict"),
        "get_args": get_args,
        "get_origin": get_origin,
        "get_type_hints": get_type_hints,
    }


def get_origin(tp: Any) -> Any:
    """`typing.get_origin`."""
    return _opaque_if_type(typing.get_origin(tp))


def get_args(tp: Any) -> tuple[Any, ...]:
    """`typing.get_args`."""
    return tuple(
        [_opaque_if_type(one) for one in part] if type(part) is list else _opaque_if_type(part)
        for part in typing.get_args(tp)
    )


def _opaque_if_type(value: Any) -> Any:
    return shown_type(value) if isinstance(value, type) else value


def _annotations(own: OwnClasses, obj: Any) -> list[tuple[Any, dict[str, Any], bool]]:
    """The annotations of a class and its bases, or of a function; and whether it is a class."""
    if isinstance(obj, type):
        kinds = [kind for kind in reversed(inspect.getmro(obj)) if own.is_own(kind)]
        return [(kind, inspect.get_annotations(kind), True) for kind in kinds]
    function = obj.__func__ if type(obj) is types.MethodType else obj
    if type(function) is types.BuiltinFunctionType or _is_ours(function):
        return []
    if type(function) is types.FunctionType:
        return [(function, inspect.get_annotations(function), False)]
    raise TypeError(f"{obj!r:.80} is not a module, class, method, or function.")


def _is_ours(function: Any) -> bool:
    """Whether it replaces a function of the library that is written in C."""
    module = getattr(function, "__module__", None)
    return type(module) is str and module.startswith("caps.")


def _names_for(
    context: StdlibContext, kind: Any, global_: Any, local: Any, caller: Mapping[str, Any]
) -> HintEvaluator | None:
    """What evaluates the annotations of a class or function; None for those of a library."""
    if not isinstance(kind, type):
        if not is_users_function(kind):
            return None
        # A copy: the evaluated text may assign to a variable.
        return HintEvaluator(kind.__builtins__, global_ or dict(kind.__globals__), local)
    if OWN_GUARD not in caller:
        return None
    if global_ is None and local is None:
        # A name of the program comes before one of the class.
        return HintEvaluator(caller, context.guards.vars(kind), caller["globals"]())
    return HintEvaluator(caller, global_, context.guards.vars(kind) if local is None else local)
