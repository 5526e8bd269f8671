# `__setattr__` and `object.__setattr__`
class Frozen:
    def __init__(self, x):
        object.__setattr__(self, "x", x)

    def __setattr__(self, name, value):
        raise AttributeError(f"{name} is frozen")


frozen = Frozen(1)
try:
    frozen.x = 2
except AttributeError as error:
    assert str(error) == "x is frozen"
assert frozen.x == 1
