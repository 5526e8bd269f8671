"""Run a syntax tree that the compiler has not checked."""

# stopped: raises TypeError

import ast
exec(ast.parse("import os as real\ntake(real)"))
