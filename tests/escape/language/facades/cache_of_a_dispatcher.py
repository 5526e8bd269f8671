"""Get the real `type` out of the cache of a dispatcher by a method of its base that is replaced."""

# stopped: harmless

import collections.abc
import functools

@functools.singledispatch
def function(value): pass

function(int)
original = collections.abc.MutableMapping.clear
collections.abc.MutableMapping.clear = lambda self: take(list(self.keys()))
try:
    function.register(float, lambda value: None)
finally:
    collections.abc.MutableMapping.clear = original
