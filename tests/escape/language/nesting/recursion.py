"""Call oneself until there is no stack left."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded

def f(): return f()
f()
