"""Spell a global with a letter that is folded to another."""

# stopped: refused
# because: reaches into the interpreter

def f():
    global __ｂuiltins__
    __builtins__ = {}
