"""The dictionary that was given to `exec`, and the one that the code runs with, stay in line."""

from __future__ import annotations

from typing import Any

import pytest

from caps.worker.inside.language.scopes.given_variables import SCOPE_NAME, Scope, Scopes
from support.language_programs import run


def _scope(given: dict[str, Any]) -> Scope:
    scope = Scope(given, {"<fixed>": 0}, str.isidentifier)
    scope.sync_all()
    return scope


def _shown(scope: Scope) -> dict[str, Any]:
    return {name: value for name, value in scope.real.items() if name.isidentifier()}


def test_what_changes_on_one_side_changes_on_the_other() -> None:
    """New, changed and deleted names; the last change counts."""
    given: dict[str, Any] = {"a": 1, "b": 2}
    scope = _scope(given)
    scope.real["a"], scope.real["c"] = 10, 3
    del given["b"]
    scope.sync_all()
    assert given == _shown(scope) == {"a": 10, "c": 3}
    given["a"] = 11
    scope.sync(["a"])
    assert scope.real["a"] == 11


def test_a_change_of_the_code_comes_before_one_from_outside() -> None:
    """Both changed the same name since they were compared."""
    given = {"a": 1}
    scope = _scope(given)
    given["a"], scope.real["a"] = 2, 3
    scope.sync_all()
    assert given == _shown(scope) == {"a": 3}


def test_equal_changes_are_known_as_such() -> None:
    """A later change from outside is not taken for an old one."""
    given: dict[str, Any] = {"a": None}
    scope = _scope(given)
    given["a"] = scope.real["a"] = True
    scope.sync_all()
    given["a"] = False
    scope.sync_all()
    assert scope.real["a"] is False


def test_names_that_code_cannot_write_stay_where_they_are() -> None:
    """The guards are not shown, and none comes from outside."""
    given = {"<own>": 1, "a": 1}
    scope = _scope(given)
    assert given == {"<own>": 1, "a": 1}
    assert scope.real.keys() == {"<fixed>", SCOPE_NAME, "a"}


def test_the_same_dictionary_has_the_same_scope_and_old_ones_are_forgotten() -> None:
    """Memory stays bounded, however many dictionaries code evaluates with."""
    scopes = Scopes(str.isidentifier)
    first: dict[str, Any] = {}
    scope = scopes.scope_of(first, {})
    assert scopes.scope_of(first, {}) is scope
    others: list[dict[str, Any]] = [{} for _ in range(64)]
    for other in others:
        scopes.scope_of(other, {})
    assert scopes.scope_of(first, {}) is not scope


@pytest.mark.parametrize(
    ("text", "then", "value"),
    [
        ("def f(): return limit", "d['limit'] = 5; d['f']()", 5),
        ("def f():\n    global n\n    n = 1", "d['f'](); d['n']", 1),
        ("def f():\n    global n\n    del n", "d['n'] = 1; d['f'](); 'n' in d", False),
        ("def f():\n    def g(): return limit\n    return g", "d['limit'] = 1; d['f']()()", 1),
        ("class C:\n    def m(self): return limit", "d['limit'] = 1; d['C']().m()", 1),
        ("def f():\n    globals()['n'] = 1", "d['f'](); d['n']", 1),
        ("def f():\n    '''doc'''\n    return limit", "d['f'].__doc__", "doc"),
        ("def f():\n    global n\n    n = 1\n    yield n", "list(d['f']()), d['n']", ([1], 1)),
        ("def f(limit): return limit", "d['limit'] = 5; d['f'](1)", 1),
        ("def f(): return [x for x in [1]], x", "d['x'] = 5; d['f']()", ([1], 5)),
        ("def f():\n    class C: k = limit\n    return C.k", "d['limit'] = 5; d['f']()", 5),
        ("def f():\n    def g(a=limit): return a\n    return g()", "d['limit'] = 5; d['f']()", 5),
    ],
)
def test_functions_of_a_text_share_its_dictionary(text: str, then: str, value: Any) -> None:
    """What they read is what stands there now, and what they set is seen there."""
    assert run(f"d = {{}}\nexec({text!r}, d)\n{then}").value == value


def test_what_a_function_has_set_is_seen_if_it_fails() -> None:
    """It is brought in line when it ends, however it ends."""
    text = "def f():\n    global n\n    n = 1\n    raise LookupError"
    program = f"d = {{}}\nexec({text!r}, d)\ntry: d['f']()\nexcept LookupError: pass\nd['n']"
    assert run(program).value == 1
