# a mixin with `__getitem__` before a class that has an iterator
class Counting:
    def __getitem__(self, key):
        self.asked = getattr(self, "asked", 0) + 1
        return super().__getitem__(key)


class Cache(Counting, dict): ...


cache = Cache(a=1, b=2)
assert list(cache) == ["a", "b"]
assert cache["a"] == 1
assert cache.asked == 1
