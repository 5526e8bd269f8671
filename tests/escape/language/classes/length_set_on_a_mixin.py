"""Give a subclass of `str` a length of its own after its class statement."""

# stopped: raises TypeError
# because: `__len__` of `Text` cannot be changed

class Mixin: ...
class Text(Mixin, str): ...
try:
    setattr(Text, "__len__", lambda self: 99)
    escaped()
except TypeError:
    pass
Mixin.__len__ = lambda self: 99
if len(Text("a")) != 1:
    escaped()
