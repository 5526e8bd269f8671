# `ast`: `parse`, `walk`, visitors, `dump` and `unparse`
import ast
import operator

OPERATORS = {ast.Add: operator.add, ast.Mult: operator.mul, ast.USub: operator.neg}


def value_of(node):
    match node:
        case ast.Expression(body=inner):
            return value_of(inner)
        case ast.Constant(value=number):
            return number
        case ast.BinOp(left, op, right):
            return OPERATORS[type(op)](value_of(left), value_of(right))
        case ast.UnaryOp(op, operand):
            return OPERATORS[type(op)](value_of(operand))
    raise ValueError(ast.dump(node))


assert value_of(ast.parse("2 * (3 + -1)", mode="eval")) == 4


class Names(ast.NodeVisitor):
    def __init__(self):
        self.names = []

    def visit_Name(self, node):
        self.names.append((node.id, node.lineno))
        self.generic_visit(node)


class Rename(ast.NodeTransformer):
    def visit_Name(self, node):
        return ast.copy_location(ast.Name(id=node.id.upper(), ctx=node.ctx), node)


source = 'def f(a, *, b=1):\n    """Adds."""\n    return a + b\n'
tree = ast.parse(source)
names = Names()
names.visit(tree)
assert names.names == [("a", 3), ("b", 3)]
function = tree.body[0]
assert isinstance(function, ast.FunctionDef) and isinstance(function, ast.stmt)
assert function.name == "f" and ast.get_docstring(function) == "Adds."
assert ast.get_source_segment(source, function.body[-1]) == "return a + b"
assert ast.unparse(Rename().visit(tree)).endswith("return A + B")
assert ast.dump(ast.parse("x", mode="eval")) == "Expression(body=Name(id='x', ctx=Load()))"
assert sum(isinstance(node, ast.Constant) for node in ast.walk(ast.parse("+".join("1" * 900)))) == 900
assert ast.BinOp._fields == ("left", "op", "right")
assert ast.literal_eval(ast.parse("[1, -2]", mode="eval")) == [1, -2]
try:
    ast.parse("a = = 1")
except SyntaxError as error:
    assert (error.lineno, error.offset) == (1, 5)
