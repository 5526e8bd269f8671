"""Keep a class that is refused in the end, and use its slots."""

# stopped: harmless

kept = []

class Base:
    def __init_subclass__(cls): kept.append(cls)

try:
    class C(Base):
        __slots__ = ("gi_frame",)
except TypeError:
    pass
take(kept)
len(kept)
