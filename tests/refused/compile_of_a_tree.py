# what: running a syntax tree
# why: a code object bypasses the checks of the compiler; use `eval` or `exec` with `ast.unparse(tree)`
# raises: TypeError: takes text here
import ast
eval(ast.parse("1 + 1", mode="eval"))
