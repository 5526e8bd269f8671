"""The stand-ins of `contextvars`."""

from __future__ import annotations

import pytest

from caps.worker.inside.stdlib.c_types.context_variables import (
    Context,
    ContextVar,
    Token,
    copy_context,
)


def test_a_variable_has_its_value_its_default_or_none() -> None:
    """As the library's own."""
    variable = ContextVar("variable")
    assert variable.name == "variable"
    assert variable.get("given") == "given"
    with pytest.raises(LookupError):
        variable.get()
    assert ContextVar("other", default=1).get() == 1
    assert "'other' default=1" in repr(ContextVar("other", default=1))
    variable.set(2)
    assert variable.get("given") == 2
    with pytest.raises(TypeError, match="must be a str"):
        ContextVar(1)  # type: ignore[arg-type]


def test_a_token_brings_the_previous_value_back_once() -> None:
    """And only for its own variable."""
    variable = ContextVar("variable")
    first, second = variable.set(1), variable.set(2)
    assert (first.var, first.old_value, second.old_value) == (variable, Token.MISSING, 1)
    with pytest.raises(ValueError, match="different ContextVar"):
        ContextVar("other").reset(second)
    variable.reset(second)
    assert variable.get() == 1
    with pytest.raises(RuntimeError, match="already been used"):
        variable.reset(second)
    variable.reset(first)
    assert variable.get(None) is None
    with pytest.raises(TypeError, match="instance of Token"):
        variable.reset(1)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="only be created by ContextVars"):
        Token()


def test_a_context_has_values_of_its_own() -> None:
    """What is set in it is not set outside, or in its copy."""
    variable, absent = ContextVar("variable"), ContextVar("absent")
    context = copy_context()
    context.run(variable.set, 1)
    other = context.copy()
    other.run(variable.set, 2)
    assert (variable.get(None), context[variable], other.get(variable)) == (None, 1, 2)
    assert variable in context
    assert absent not in context
    assert context.get(absent, "given") == "given"
    assert dict(context.items())[variable] == 1
    assert list(context) == list(context.keys())
    assert len(list(context.values())) == len(context)
    assert len(Context()) == 0
    with pytest.raises(TypeError, match="a ContextVar key was expected"):
        context["variable"]  # type: ignore[index]


def test_the_methods_take_only_their_own_objects() -> None:
    """They read private attributes, which other objects have, too."""
    with pytest.raises(TypeError, match="a `Context` was due"):
        Context.copy(object())  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a `ContextVar` was due"):
        ContextVar.get(object())  # type: ignore[arg-type]
