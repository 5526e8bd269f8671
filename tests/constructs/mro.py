# `__mro__`, `mro()`, `__bases__` and `__subclasses__()` of own classes
class A: ...


class B(A): ...


class C(A): ...


class D(B, C): ...


assert [kind.__name__ for kind in D.__mro__] == ["D", "B", "C", "A", "object"]
assert [kind.__name__ for kind in D.mro()] == ["D", "B", "C", "A", "object"]
assert D.__bases__ == (B, C)
assert A.__subclasses__() == [B, C]
