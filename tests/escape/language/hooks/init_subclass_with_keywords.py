"""Get the keywords of a class statement, its metaclass among them."""

# stopped: harmless

class Base:
    def __init_subclass__(cls, **keywords):
        for value in keywords.values():
            take(value)
        escaped() if "metaclass" in keywords else None

from abc import ABCMeta
class C(Base, metaclass=ABCMeta, extra=1): pass
None
