"""Read the defaults of functions of the library and of ours."""

# stopped: harmless

import inspect, json, copy, dataclasses, contextlib, enum
class E(json.JSONEncoder): pass
class C(enum.Enum): A = 1
class A: __init__ = json.dumps
class I(int): pass
for value in (A, I, print, getattr, json.dumps, copy.copy, json.JSONEncoder, E, C, dataclasses.field, contextlib.suppress, 1):
    try:
        inspect.signature(value)
        escaped()
    except ValueError:
        pass
None
