# `__getattr__` for missing attributes
class Lazy:
    def __init__(self, held):
        self._held = held

    def __getattr__(self, name):
        try:
            return self._held[name]
        except KeyError:
            raise AttributeError(name) from None


lazy = Lazy({"a": 1})
assert lazy.a == 1
assert not hasattr(lazy, "b")
assert getattr(lazy, "b", 2) == 2
