"""Find a class that was refused among the subclasses of its base."""

# stopped: harmless

class Base: pass

try:
    class C(Base):
        __slots__ = ("__globals__",)
except TypeError:
    pass
len(Base.__subclasses__())
