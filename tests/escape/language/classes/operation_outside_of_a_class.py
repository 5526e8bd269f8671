"""Define operations outside of a class, and set them where a class statement could not."""

# stopped: raises TypeError or raises AttributeError
# because: cannot be changed
# because: of your own classes only

import collections

def __init__(self, *_arguments): escaped()
def __len__(self): return 1 << 40
def __call__(self, *arguments): take(arguments)
def __missing__(self, key): take(key)

class Text(str): pass
class Property(property): pass
for owner, name, value in (
    (Text, "__len__", __len__),
    (Property, "__init__", __init__),
    (collections.OrderedDict, "__missing__", __missing__),
    (str, "__len__", __len__),
):
    try:
        setattr(owner, name, value)
        escaped()
    except (AttributeError, TypeError):
        pass
globals()["__call__"] = __call__
globals().update({"__missing__": __missing__})
print(len("a"), str("b"), {}.get(1))
Text.__len__ = __len__
