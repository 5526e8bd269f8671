# what: `ast.parse`
# why: code could change the classes of nodes, which our own compiler uses; `ast.literal_eval` works
# raises: AttributeError: 'ast' object has no attribute 'parse'
import ast
ast.parse("1")
