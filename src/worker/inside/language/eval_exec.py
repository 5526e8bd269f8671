"""(4) `eval`, `exec`, `globals` and `locals` for user space.

Source that running code builds goes through the same compiler and the same guards. So it can do
nothing that the program itself could not do. The real dictionaries are never returned, because they
hold the guards.

Runs in the worker, after confinement.
"""

from __future__ import annotations

import builtins
import sys
from types import FrameType
from typing import Any

from caps.worker.inside.language.compiler import SourceError, compile_text
from caps.worker.inside.language.guards import OwnClasses
from caps.worker.inside.language.identifiers import VARIABLES, refusal
from caps.worker.inside.language.transformer import RESULT_NAME


def add_evaluation(user_globals: dict[str, Any], own: OwnClasses) -> None:
    """Add the four functions to the builtins of one execution."""
    evaluation = _Evaluation(user_globals, own)
    user_globals["__builtins__"].update(
        {
            "eval": evaluation.eval,
            "exec": evaluation.exec,
            "globals": evaluation.globals,
            "locals": evaluation.locals,
        }
    )


class _Evaluation:
    __slots__ = ("_globals", "_own")

    def __init__(self, user_globals: dict[str, Any], own: OwnClasses) -> None:
        self._globals = user_globals
        self._own = own

    def eval(self, source: str, globals: Any = None, locals: Any = None, /) -> Any:  # noqa: A002
        code = self._compile(source, "eval")
        scope = self._make_scope(globals, locals, self._caller_frame() if globals is None else None)
        return builtins.eval(code, scope)  # noqa: S307 - checked like the program itself

    def exec(self, source: str, globals: Any = None, locals: Any = None, /) -> None:  # noqa: A002
        code = self._compile(source, "exec")
        if globals is None and locals is None:
            caller = self._caller_frame()
            # In a function it reads, and assigns to, a copy of the local variables.
            in_function = caller.f_code.co_name != "<module>"
            scope = dict(caller.f_locals) if in_function else self._globals
            builtins.exec(code, self._globals, scope)  # noqa: S102 - the same
            self._globals.pop(RESULT_NAME, None)
            return
        scope = self._make_scope(globals, locals, None)
        builtins.exec(code, scope)  # noqa: S102 - the same
        target = globals if locals is None else locals
        target.update(_visible_variables(scope))

    def globals(self) -> dict[str, Any]:
        """A copy of the program's variables."""
        return _visible_variables(self._globals)

    def locals(self) -> dict[str, Any]:
        """A copy of the caller's variables."""
        return _visible_variables(self._caller_frame().f_locals)

    def _compile(self, source: Any, mode: str) -> Any:
        if not isinstance(source, str):
            raise TypeError(f"`{mode}` takes text here, not a `{type(source).__name__}`")
        try:
            program = compile_text(
                str.__str__(source).strip(" \t") if mode == "eval" else str.__str__(source), mode
            )
        except SourceError as error:
            raise SyntaxError(error.message) from None
        self._own.add_private_names(program.private_names)
        return program.code

    def _caller_frame(self) -> FrameType:
        """The frame of the user code that called; never that of a library in between."""
        frame = sys._getframe(2)
        if frame.f_globals is not self._globals:
            raise RuntimeError("call it directly, not through a library")
        return frame

    def _make_scope(self, global_: Any, local: Any, caller: FrameType | None) -> dict[str, Any]:
        """The variables of the evaluated code: a new dictionary with the real `__builtins__`."""
        for variables in (global_, local):
            if variables is not None and not isinstance(variables, dict):
                raise TypeError("variables are given as a dictionary")
        outer = self._globals if global_ is None else _visible_variables(global_)
        inner = {} if caller is None else _visible_variables(caller.f_locals)
        fixed = {name: self._globals[name] for name in ("__builtins__", "__name__")}
        return {**outer, **inner, **(_visible_variables(local) if local else {}), **fixed}


def _visible_variables(variables: dict[str, Any]) -> dict[str, Any]:
    """The variables whose names user code could write."""
    return {
        name: value
        for name, value in variables.items()
        if type(name) is str
        and name.isidentifier()
        and (refusal(name) is None or name in VARIABLES)
    }
