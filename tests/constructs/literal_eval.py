# `ast.literal_eval`
import ast

assert ast.literal_eval(" {'a': [1, -2.5, None], 'b': (True, b'x'), 'c': {1, 2}}") == {
    "a": [1, -2.5, None], "b": (True, b"x"), "c": {1, 2}
}
for text in ("f()", "a.b", "1 +", "__import__('os')"):
    try:
        ast.literal_eval(text)
        raise AssertionError
    except (ValueError, SyntaxError):
        pass
