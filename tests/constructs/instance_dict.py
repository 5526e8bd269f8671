# `self.__dict__` is read and updated
import json


class Bunch:
    def __init__(self, **fields):
        self.__dict__.update(fields)


bunch = Bunch(a=1, _b=2)
assert (bunch.a, bunch._b) == (1, 2)
assert json.loads(json.dumps(bunch.__dict__)) == {"a": 1, "_b": 2}
bunch.__dict__["c"] = 3
assert bunch.c == 3
del bunch.__dict__["c"]
assert vars(bunch) == {"a": 1, "_b": 2}
assert bunch.__dict__ == Bunch(a=1, _b=2).__dict__
