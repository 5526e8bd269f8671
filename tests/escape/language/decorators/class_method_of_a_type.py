"""Bind `type` to a method, and get it handed over."""

# stopped: harmless

class C:
    @classmethod
    def f(cls): return type(cls)
take(C.f())
take(type(C.f()))
