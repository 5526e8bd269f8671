"""Get the real classes of syntax trees, which the compiler uses, and change them."""

# stopped: harmless

import ast
nodes = list(ast.walk(ast.parse("def f(x: int = 1, *a, **k) -> str: return x.y[0]")))
for node in [*nodes, ast.AST()]:
    kind = type(node)
    if hasattr(kind, "__module__") and kind.__module__ == "_ast":
        escaped()
    kind.lineno = "changed"
    kind._fields = ()
take([type(node) for node in nodes])
exec("assert 1 + 1 == 2")
