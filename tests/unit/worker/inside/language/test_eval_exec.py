"""`eval` and `exec` of user space, and what `globals`, `locals` and `dir` show inside them."""

from __future__ import annotations

from typing import Any

import pytest

from support.language_programs import run


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("eval('sorted(globals())', {'x': 1, 'y': 2})", ["x", "y"]),
        ("eval('sorted(globals())', globals={'x': 1}, locals={'y': 2})", ["x"]),
        ("eval('sorted(locals())', globals={'x': 1}, locals={'y': 2})", ["y"]),
        ("eval('dir()', {'x': 1})", ["x"]),
        ("eval('x + y', {'x': 1}, {'y': 2})", 3),
        ("eval('eval(\"x\")', {'x': 1})", 1),
        ("d = {}\nexec('exec(\"x = 1\")', d)\nd", {"x": 1}),
        ("d = {}\nexec('globals().update(x=1)', d)\nd", {"x": 1}),
        ("d = {'x': 1}\nexec('del x', d)\nd", {}),
        ("d, e = {}, {}\nexec('x = 1', d, e)\n[d, e]", [{}, {"x": 1}]),
        ("d = {}\nexec('x = 1', d, d)\nd", {"x": 1}),
        ("n = 0\nexec('globals()[\"n\"] = 1', globals())\nn", 1),
        ("n = 0\nexec('n = 1', None, {})\nn", 0),
        ("def f():\n    return eval('globals()')\nx = 5\nf()['x']", 5),
        ("def f(y):\n    return sorted(eval('locals()'))\nf(1)", ["y"]),
        ("def f(y):\n    return eval('(lambda: y)()')\nf(1)", 1),
    ],
)
def test_evaluated_code_has_the_variables_that_it_was_given(source: str, value: Any) -> None:
    """And no other ones; what it does to them is seen outside."""
    assert run(source).value == value


@pytest.mark.parametrize("error", ["1 / 0", "raise LookupError", "missing"])
def test_what_evaluated_code_has_set_stays_if_it_fails(error: str) -> None:
    """As in Python, whichever dictionary was given."""
    program = f"""
class Mine(dict): pass
found = []
for given in ({{}}, Mine()):
    try:
        exec("x = 1; {error}", given)
    except Exception:
        found.append(given["x"])
found
"""
    assert run(program).value == [1, 1]


@pytest.mark.parametrize("name", ["__builtins__", "__import__", "<own>", "a b", "gi_frame"])
def test_what_globals_gives_in_evaluated_code_refuses_other_names(name: str) -> None:
    """The check is that of the program's own variables."""
    with pytest.raises(AttributeError, match="cannot be the name of a variable here"):
        run(f"exec('globals()[name] = 1', {{'name': {name!r}}})")


def test_what_globals_gives_in_evaluated_code_hides_the_guards() -> None:
    """The dictionary with the guards is never returned."""
    found = run("eval('globals()', {'x': 1})").value
    assert (list(found), dict(found)) == (["x"], {"x": 1})
    with pytest.raises(KeyError):
        found["__builtins__"]


@pytest.mark.parametrize("given", ["[]", "'x'", "1", "ChainMap()"])
def test_variables_are_given_as_a_dictionary(given: str) -> None:
    """Another mapping could run code at every look."""
    with pytest.raises(TypeError, match="variables are given as a dictionary"):
        run(f"from collections import ChainMap\neval('1', {given})")


@pytest.mark.parametrize("given", ["", ", None, {}"])
def test_a_library_that_calls_has_no_variables_of_the_program(given: str) -> None:
    """With local variables of its own or not: those of whose caller would be a guess."""
    with pytest.raises(RuntimeError, match="call it directly, not through a library"):
        run(
            "import contextlib\n"
            f"with contextlib.ExitStack() as stack: stack.callback(exec, 'x = 1'{given})"
        )
