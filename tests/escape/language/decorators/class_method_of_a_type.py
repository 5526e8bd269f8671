"""Bind `type` to a method, and receive it."""

# stopped: harmless

class C:
    @classmethod
    def f(cls): return type(cls)
take(C.f())
take(type(C.f()))
