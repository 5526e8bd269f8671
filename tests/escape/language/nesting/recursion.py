"""Recurse until the stack is exhausted."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded

def f(): return f()
f()
