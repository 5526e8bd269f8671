"""Give a cached property another name while it computes, so that it writes a library's attribute."""

# stopped: harmless

import contextlib, functools

def compute(self):
    try:
        class Other:
            _exit_callbacks = Stack.x
    except (RuntimeError, TypeError):
        pass
    return "mine"

class Stack(contextlib.ExitStack):
    x = functools.cached_property(compute)

stack = Stack()
stack.x
try:
    stack.close()
except AttributeError:
    escaped()
