"""Find the real dictionary of variables among those that text sees."""

# stopped: raises RuntimeError
# because: call it directly, not through a library

def f(): pass
for value in eval("globals()").values():
    take(value)
for value in eval("locals()", {}).values():
    take(value)
None
