"""Build a tree with a refused name and run its text."""

# stopped: raises SourceError or raises SyntaxError
# because: `__globals__` reaches into the interpreter

import ast
def f(): ...
tree = ast.Expression(ast.Attribute(ast.Name("f", ast.Load()), "__globals__", ast.Load()))
take(eval(ast.unparse(tree), {"f": f}))
