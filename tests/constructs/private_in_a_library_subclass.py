# private state in a subclass of a library class
from collections import Counter, OrderedDict


class Tally(Counter):
    def __init__(self, *args):
        super().__init__(*args)
        self._source = "tally"


class Cache(OrderedDict):
    def __init__(self, size):
        super().__init__()
        self._size = size

    def __setitem__(self, key, value):
        super().__setitem__(key, value)
        if len(self) > self._size:
            self.popitem(last=False)


assert Tally("aab")._source == "tally"
cache = Cache(1)
cache["a"] = 1
cache["b"] = 2
assert list(cache) == ["b"]
