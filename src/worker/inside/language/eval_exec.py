"""(4) `eval`, `exec`, `globals`, `locals`, and `vars` and `dir` of variables, for user space.

Source that running code builds goes through the same compiler and the same guards. So it can do
nothing that the program itself could not do. The real dictionaries are never returned, because they
hold the guards: `globals()` is a view that reads and writes the variables that code could name.

Runs in the worker, after confinement.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from caps.worker.inside.language.compiler import SourceError, compile_text
from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.language.identifiers import OPERATIONS, VARIABLES, refusal
from caps.worker.inside.language.reflection import OwnDict, own_dict
from caps.worker.inside.language.scopes.given_variables import (
    SYNC_GUARD,
    Scope,
    Scopes,
    sync_caller,
)
from caps.worker.inside.language.transformer import RESULT_NAME

if TYPE_CHECKING:
    from _collections_abc import dict_items, dict_keys, dict_values

# The variables of every scope that user code does not set.
_FIXED = ("__builtins__", "__name__")


def add_evaluation(user_globals: dict[str, Any], own: OwnClasses) -> None:
    """Add the functions to the builtins of one execution."""
    evaluation = _Evaluation(user_globals, own)
    user_globals["__builtins__"].update(
        {
            "eval": evaluation.eval,
            "exec": evaluation.exec,
            "globals": evaluation.globals,
            "locals": evaluation.locals,
            "vars": evaluation.vars,
            "dir": evaluation.dir,
            SYNC_GUARD: sync_caller,
        }
    )


class GlobalVariables(OwnDict):
    """`globals()`: the program's variables, as they are at every look."""

    __slots__ = ()

    def refresh(self) -> None:
        """Read the variables again."""
        if type(self) is not GlobalVariables:
            # Dictionaries of objects have a check of their own for what they show.
            raise TypeError(f"`globals()` was due, not a `{type(self).__name__}`")
        current = _visible_variables(self._real)
        dict.clear(self)
        dict.update(self, current)

    def __getitem__(self, name: str) -> Any:
        self.refresh()
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.refresh()
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        self.refresh()
        return super().__iter__()

    def __len__(self) -> int:
        self.refresh()
        return super().__len__()

    def __delitem__(self, name: str) -> None:
        self.refresh()
        super().__delitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.refresh()
        return super().get(name, default)

    def keys(self) -> dict_keys[str, Any]:
        self.refresh()
        return super().keys()

    def values(self) -> dict_values[str, Any]:
        self.refresh()
        return super().values()

    def items(self) -> dict_items[str, Any]:
        self.refresh()
        return super().items()


def _view_of(variables: dict[str, Any]) -> GlobalVariables:
    view = GlobalVariables()
    view._real, view._check = variables, _check_variable
    return view


def _check_variable(name: Any) -> None:
    """Raise AttributeError unless user code may have a variable called `name`."""
    if not _is_visible(name):
        raise AttributeError(f"{name!r:.80} cannot be the name of a variable here")


def _check_in_body(name: Any, body: FrameType) -> None:
    """The same for the body of a class, while it runs: after that its names are checked."""
    _check_variable(name)
    # That of a class is held to the rules of its statement, which are not applied here.
    if name in OPERATIONS:
        raise AttributeError(f"{name!r:.80} is defined by a statement in the body of a class")
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame is not body:
        frame = frame.f_back
    if frame is None:
        raise AttributeError(f"{name!r:.80} cannot be set after the body of its class")


class _Evaluation:
    __slots__ = ("_dir", "_globals", "_own", "_scopes", "_vars", "_view")

    def __init__(self, user_globals: dict[str, Any], own: OwnClasses) -> None:
        self._globals = user_globals
        # Those of an object.
        self._dir, self._vars = (user_globals["__builtins__"][name] for name in ("dir", "vars"))
        self._own = own
        self._view = _view_of(user_globals)
        self._scopes = Scopes(_is_visible)

    # Python takes the dictionaries as keywords, too, from 3.13 on.
    def eval(self, source: str, /, globals: Any = None, locals: Any = None) -> Any:  # noqa: A002
        code = self._compile(source, "eval", globals)
        if globals is not None or locals is not None:
            return self._run_with(builtins.eval, code, globals, locals)
        caller = self._caller_frame()
        if _is_module(caller):
            return builtins.eval(code, caller.f_globals)  # noqa: S307 - checked like the program itself
        # In a function it reads a copy of the local variables; functions in the text do so, too.
        local = _visible_variables(caller.f_locals)
        if not any(type(one) is CodeType for one in code.co_consts):
            return builtins.eval(code, caller.f_globals, local)  # noqa: S307 - the same
        return builtins.eval(code, {**caller.f_globals, **local, **self._fixed()})  # noqa: S307 - the same

    def exec(self, source: str, /, globals: Any = None, locals: Any = None) -> None:  # noqa: A002
        code = self._compile(source, "exec", globals)
        if globals is not None or locals is not None:
            self._run_with(builtins.exec, code, globals, locals)
            return
        caller = self._caller_frame()
        # In a function it reads, and assigns to, a copy of the local variables.
        scope = caller.f_globals if _is_module(caller) else dict(caller.f_locals)
        builtins.exec(code, caller.f_globals, scope)  # noqa: S102 - the same
        caller.f_globals.pop(RESULT_NAME, None)

    def _run_with(
        self, run: Callable[[Any, dict[str, Any], Any], Any], code: Any, global_: Any, local: Any
    ) -> Any:
        """Run code with the variables that were passed, and bring back what it did to them."""
        if type(global_) is dict:
            scope = self._scopes.scope_of(global_, self._fixed())
            return self._run_in(run, code, scope.real, None if local is global_ else local, scope)
        if global_ is None or type(global_) is GlobalVariables:
            outer = sys._getframe(2).f_globals if global_ is None else global_._real
            self._check_scope(outer)
            return self._run_in(run, code, outer, None if local is global_ else local)
        outer = self._make_scope(global_)
        before = _visible_variables(outer)
        try:
            return self._run_in(run, code, outer, local)
        finally:
            _write_back(before, outer, global_)

    def _run_in(
        self, run: Any, code: Any, outer: dict[str, Any], local: Any, scope: Scope | None = None
    ) -> Any:
        """Run code with these global variables, and local ones that were passed."""
        inner = None if local is None else self._make_scope(local)
        before = _visible_variables(inner or {})
        try:
            return run(code, outer, inner)
        finally:
            outer.pop(RESULT_NAME, None)
            if scope is not None:
                scope.sync_all()
            if inner is not None:
                _write_back(before, inner, local)

    def _fixed(self) -> dict[str, Any]:
        return {name: self._globals[name] for name in _FIXED}

    def _is_scope(self, variables: dict[str, Any]) -> bool:
        """Whether these are the variables of the program, or of code that it evaluated."""
        return variables.get("__builtins__") is self._globals["__builtins__"]

    def globals(self) -> dict[str, Any]:
        """The program's variables; setting an item sets the variable.

        Evaluated code that was given other variables gets those.
        """
        return self._view_in(sys._getframe(1).f_globals)

    def _view_in(self, real: dict[str, Any]) -> GlobalVariables:
        other = self._is_scope(real) and real is not self._globals
        view = _view_of(real) if other else self._view
        view.refresh()
        return view

    def locals(self) -> dict[str, Any]:
        """The caller's variables: in a function a copy, elsewhere setting an item sets one."""
        return self._variables_of(self._caller_frame())

    def vars(self, *value: Any) -> dict[str, Any]:
        """`vars`: without an argument it is `locals`."""
        return self._vars(*value) if value else self._variables_of(self._caller_frame())

    def dir(self, *value: Any) -> list[str]:
        """`dir`: without an argument the names of the caller's variables."""
        return self._dir(*value) if value else sorted(self._variables_of(self._caller_frame()))

    def _variables_of(self, frame: FrameType) -> dict[str, Any]:
        variables = frame.f_locals
        is_function = bool(frame.f_code.co_flags & inspect.CO_OPTIMIZED)
        # A program that returns is a function whose variables are all global.
        if variables is frame.f_globals or (is_function and _is_module(frame)):
            return self._view_in(frame.f_globals)
        if is_function:
            return _visible_variables(variables)
        return own_dict(variables, lambda name: _check_in_body(name, frame))

    def _compile(self, source: Any, mode: str, given: Any) -> Any:
        if not isinstance(source, str):
            raise TypeError(f"`{mode}` takes text here, not a `{type(source).__name__}`")
        try:
            program = compile_text(
                str.__str__(source).strip(" \t") if mode == "eval" else str.__str__(source),
                mode,
                synced=type(given) is dict,
            )
        except SourceError as error:
            raise (error.python_error or SyntaxError(error.message)) from None
        self._own.add_private_names(program.private_names)
        return program.code

    def _caller_frame(self) -> FrameType:
        """The frame of the user code that called; never that of a library in between."""
        frame = sys._getframe(2)
        self._check_scope(frame.f_globals)
        return frame

    def _check_scope(self, variables: dict[str, Any]) -> None:
        if not self._is_scope(variables):
            raise RuntimeError("call it directly, not through a library")

    def _make_scope(self, variables: Any) -> dict[str, Any]:
        """The variables of the evaluated code: a new dictionary with the real `__builtins__`."""
        if not isinstance(variables, dict):
            raise TypeError("variables are given as a dictionary")
        return {**_visible_variables(variables), **self._fixed()}


def _is_module(frame: FrameType) -> bool:
    return frame.f_code.co_name == "<module>"


def _write_back(before: dict[str, Any], scope: dict[str, Any], target: Any) -> None:
    """Bring what evaluated code did to its variables into the dictionary that was passed."""
    after = _visible_variables(scope)
    for name in before.keys() - after.keys():
        target.pop(name, None)
    changed = {n: value for n, value in after.items() if n not in before or before[n] is not value}
    if changed:
        target.update(changed)


def _is_visible(name: Any) -> bool:
    """Whether user code could write this name."""
    return (
        type(name) is str
        and name.isidentifier()
        and (refusal(name) is None or name in VARIABLES or name in OPERATIONS)
    )


def _visible_variables(variables: dict[str, Any]) -> dict[str, Any]:
    """The variables whose names user code could write."""
    return {name: value for name, value in variables.items() if _is_visible(name)}
