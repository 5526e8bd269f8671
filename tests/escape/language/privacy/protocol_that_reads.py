"""Have a protocol's check read private attributes, and see them by a descriptor."""

# stopped: harmless

from typing import Protocol, runtime_checkable

@runtime_checkable
class P(Protocol):
    _hidden: str

class Spy:
    def __getattr__(self, name): return secret._hidden

isinstance(Spy(), P)
