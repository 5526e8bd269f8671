"""Only functions that use variables of the text are changed."""

from __future__ import annotations

import ast

import pytest

from caps.worker.inside.language.scopes.synced_functions import sync_functions


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(a): return a", "def f(a):\n    return a"),
        ("def f(): return len([])", "def f():\n    return len([])"),
        ("def f(): return f()", "def f():\n    return f()"),
        ("import math\ndef f(): return math", "import math\n\ndef f():\n    return math"),
        ("def f(): return x", "def f():\n    <sync>('x')\n    return x"),
        (
            "def f():\n    'doc'\n    global x\n    x = 1",
            'def f():\n    """doc"""\n'
            "    <sync>('x')\n    try:\n        global x\n        x = 1\n    finally:\n"
            "        <sync>('x')",
        ),
        (
            "def f():\n    x = 1\n    def g(): return x + y",
            "def f():\n    x = 1\n\n    def g():\n        <sync>('y')\n        return x + y",
        ),
        (
            "def g(): pass\ng = 1\ndef f(): return g",
            "def g():\n    pass\ng = 1\n\ndef f():\n    <sync>('g')\n    return g",
        ),
        (
            "def f(): return globals()",
            "def f():\n    try:\n        return globals()\n    finally:\n        <sync>()",
        ),
        (
            "def f():\n    for a in b:\n        with c as d: pass\n    match a:\n"
            "        case [*e, {'k': 1, **g}] as h: return (d, e, g, h)",
            "def f():\n    <sync>('b', 'c')\n    for a in b:\n        with c as d:\n"
            "            pass\n    match a:\n        case [*e, {'k': 1, **g}] as h:\n"
            "            return (d, e, g, h)",
        ),
        # The target of a comprehension is not a variable of the function, that of `:=` is.
        (
            "def f(): return [x for x in y], x, [z := 1 for _ in ()], z",
            "def f():\n    <sync>('_', 'x', 'y')\n"
            "    return ([x for x in y], x, [(z := 1) for _ in ()], z)",
        ),
        ("def f(a=lambda x: x): return x", "def f(a=lambda x: x):\n    <sync>('x')\n    return x"),
        (
            "def f():\n    @d\n    class C(b):\n        k = x",
            "def f():\n    <sync>('b', 'd', 'k', 'x')\n\n    @d\n    class C(b):\n        k = x",
        ),
        (
            "def f():\n    x = 1\n    class C:\n        x = x",
            "def f():\n    <sync>('x')\n    x = 1\n\n    class C:\n        x = x",
        ),
        (
            "def f():\n    class C:\n        global x\n        x = 1",
            "def f():\n    <sync>('x')\n    try:\n\n        class C:\n            global x\n"
            "            x = 1\n    finally:\n        <sync>('x')",
        ),
        (
            "def f():\n    @d\n    def g(a=x): return a",
            "def f():\n    <sync>('d', 'x')\n\n    @d\n    def g(a=x):\n        return a",
        ),
    ],
)
def test_a_function_says_which_variables_it_reads_and_sets(before: str, after: str) -> None:
    """Not those that it binds itself, of a builtin, or that the text defines once."""
    tree = ast.parse(before)
    sync_functions(tree)
    assert ast.unparse(tree) == after
    compile(tree, "<text>", "exec")
