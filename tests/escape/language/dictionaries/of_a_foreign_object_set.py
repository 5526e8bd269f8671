"""Set the dictionary of an object of the library, of a class and of a function."""

# stopped: raises AttributeError
# because: `__dict__` can be set of objects of your own classes only

import functools
def f(): ...
class Own: ...
class Keys(dict): ...
for target in (f, Own, functools.partial(f), record):
    try:
        target.__dict__ = {"x": 1}
        escaped()
    except AttributeError:
        pass
for value in (Keys(), Own().__dict__, None):
    try:
        Own().__dict__ = value
        escaped()
    except TypeError:
        pass
secret.__dict__ = {"_hidden": 1}
