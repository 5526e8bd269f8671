"""Set an operation of a class of the library, of a builtin one and of an object."""

# stopped: raises AttributeError
# because: `__eq__` can be set of your own classes only

import collections, decimal, json
class Own: ...
for target in (int, dict, collections.Counter, decimal.Decimal, json.JSONEncoder, json, Own(), record, print):
    try:
        setattr(target, "__len__", lambda self: 1)
        escaped()
    except (AttributeError, TypeError):
        pass
for name in ("__getattribute__", "__del__", "__reduce__", "__class__", "__new__", "__getattr__", "__deepcopy__"):
    try:
        setattr(Own, name, lambda *a: 1)
        escaped()
    except AttributeError:
        pass
collections.OrderedDict.__eq__ = lambda self, other: True
