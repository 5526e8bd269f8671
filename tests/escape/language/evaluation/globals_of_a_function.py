"""Find the real dictionary of variables among those that text sees."""

# stopped: harmless

def f(): pass
for value in eval("globals()").values():
    take(value)
for value in eval("locals()", {}).values():
    take(value)
None
