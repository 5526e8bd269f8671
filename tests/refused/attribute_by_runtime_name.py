# what: the same names at run time
# why: `getattr` follows the same rules as source code
# raises: AttributeError: `__globals__` reaches into the interpreter
def f(): ...
getattr(f, "__globals" + "__")
