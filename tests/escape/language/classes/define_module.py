"""Lie about where a class comes from, to be taken for one of ours."""

# stopped: refused
# because: reaches into the interpreter

class C:
    __module__ = "caps.worker.inside.language.guards"
