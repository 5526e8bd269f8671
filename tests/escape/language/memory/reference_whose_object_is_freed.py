"""Free an object while its weak reference is compared, hashed and shown."""

# stopped: harmless

import weakref
class Key:
    def __eq__(self, other): held.clear(); return True
    def __hash__(self): held.clear(); return 1
class Named:
    @property
    def name(self): held.clear(); return "x"
    def __getattr__(self, name): held.clear(); raise AttributeError(name)
    def __repr__(self): held.clear(); return "x"
for kind in (Key, Named):
    for use in (
        lambda a, b: a == b,
        lambda a, b: hash(a),
        lambda a, b: repr(a),
        lambda a, b: weakref.WeakKeyDictionary({a(): 1}),
        lambda a, b: weakref.WeakSet([a(), b()]),
        lambda a, b: getattr(weakref.proxy(a()), "missing", None),
        lambda a, b: list(weakref.WeakValueDictionary({1: a(), 2: b()}).items()),
    ):
        held = [kind(), kind()]
        try:
            use(weakref.ref(held[0]), weakref.ref(held[1]))
        except (TypeError, ReferenceError):
            pass
