# `super().__setattr__` and `super().__delattr__`
class Doubling:
    def __setattr__(self, name, value):
        super().__setattr__(name, value * 2)

    def __delattr__(self, name):
        super().__delattr__(name)


one = Doubling()
one.x = 2
assert one.x == 4
del one.x
assert not hasattr(one, "x")
