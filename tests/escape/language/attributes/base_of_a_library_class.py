"""Climb by `__base__` and `__mro__` from a class of one's own to those of the library."""

# stopped: raises AttributeError
# because: `__base__` is shown of your own classes only

import json, enum, typing, abc
class E(json.JSONEncoder): pass
class C(enum.Enum): A = 1
class P(typing.Protocol): pass
class A(abc.ABC): pass
for kind in (E, C, P, A):
    take([kind.__base__, list(kind.__mro__), list(kind.__bases__)])
    if kind.__base__ is not object:
        escaped()
take(json.JSONEncoder.__base__)
