"""Write a library's private attribute by a cached property of that name."""

# stopped: raises TypeError
# because: a cached_property belongs into a class statement

from functools import cached_property

class C:
    @cached_property
    def _hidden(self): return "mine"

type(secret).shown = vars(C)["_hidden"]
secret.shown
escaped()
