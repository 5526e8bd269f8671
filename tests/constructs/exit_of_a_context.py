# `__exit__` gets the error and may suppress it
class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.seen = kind.__name__
        return True


with Swallow() as swallow:
    raise KeyError("k")
assert swallow.seen == "KeyError"
