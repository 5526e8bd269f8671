"""(4) Annotations that are strings, evaluated as the program itself would evaluate them.

The library evaluates them with the real `eval`, which no guard sees. Here each string goes through
`eval` of user space: it is compiled, checked and run like the program's own code.

Runs in the worker, after confinement.
"""

from __future__ import annotations

import functools
import operator
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from caps.worker.inside.language.private_attributes import OWN_GUARD

_typing: Any = typing
_FORWARD_REF: Any = typing.ForwardRef
_type_check: Callable[..., Any] = _typing._type_check
_ALIASES: Any = (_typing._GenericAlias, types.GenericAlias, types.UnionType)


class HintEvaluator:
    """Evaluates strings with the variables of one program, or those that it passed."""

    __slots__ = ("_evaluate",)
    _evaluate: Callable[[str], Any]

    def __init__(
        self, user_builtins: Mapping[str, Any], global_: Any = None, local: Any = None
    ) -> None:
        """`user_builtins` are those of the program; `global_` and `local` are as in `eval`."""
        if OWN_GUARD not in user_builtins:
            raise TypeError("the annotations of a library are not evaluated here")
        evaluate: Callable[..., Any] = user_builtins["eval"]
        variables = user_builtins["globals"]() if global_ is None else global_
        self._evaluate = lambda text: evaluate(text, variables, local)

    def type_of_hint(self, hint: Any, *, is_class: bool = False) -> Any:
        """The type that an annotation means. Raises NameError or SyntaxError, as Python does."""
        if hint is None:
            return type(None)
        if isinstance(hint, str):
            return self._type_of_text(str.__str__(hint), frozenset(), is_class)
        return self._resolved(hint, frozenset())

    def _type_of_text(self, text: str, seen: frozenset[str], is_class: bool) -> Any:
        # A type that is unpacked is not an expression of its own.
        found = self._evaluate(f"({text},)[0]" if text.startswith("*") else text)
        checked = _type_check(
            found,
            "Forward references must evaluate to types.",
            is_argument=not is_class,
            allow_special_forms=is_class,
        )
        return self._resolved(checked, seen | {text})

    def _resolved(self, hint: Any, seen: frozenset[str]) -> Any:
        """`hint` with every string inside it replaced by what it means."""
        if type(hint) is _FORWARD_REF:
            text = str.__str__(hint.__forward_arg__)
            if text in seen:
                return hint  # a type that contains itself would go on forever
            return self._type_of_text(text, seen, bool(hint.__forward_is_class__))
        if not isinstance(hint, _ALIASES):
            return hint
        before = hint.__args__
        texts = isinstance(hint, types.GenericAlias)  # `list["C"]` keeps the plain string
        arguments = (_FORWARD_REF(one) if texts and type(one) is str else one for one in before)
        after = tuple(self._resolved(one, seen) for one in arguments)
        if all(map(operator.is_, before, after)):
            return hint
        return _with_arguments(hint, after)


def _with_arguments(alias: Any, arguments: tuple[Any, ...]) -> Any:
    if isinstance(alias, types.UnionType):
        return functools.reduce(operator.or_, arguments)
    if not isinstance(alias, types.GenericAlias):
        return alias.copy_with(arguments)
    origin: Any = alias.__origin__
    made = types.GenericAlias(origin, arguments)
    return next(iter(made)) if alias.__unpacked__ else made


def without_extras(hint: Any) -> Any:
    """`hint` without `Annotated` and its like, also inside it."""
    return _typing._strip_annotations(hint)
