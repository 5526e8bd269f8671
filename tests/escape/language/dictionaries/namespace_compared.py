"""Get a library's private attribute by comparing its object with a namespace."""

# stopped: raises TypeError
# because: a `SimpleNamespace` was due, not a `Secret`

from types import SimpleNamespace
class Spy:
    def __eq__(self, other): escaped(); return True
SimpleNamespace.__eq__(secret, SimpleNamespace(_hidden=Spy()))
