"""Be asked for the attributes of a protocol, and answer with those of a library's object."""

# stopped: harmless

from typing import Protocol, runtime_checkable

@runtime_checkable
class P(Protocol):
    def __init__(self): ...
    hidden: int

class Spy:
    def __getattr__(self, name):
        if name.startswith("_"):
            escaped()
        raise AttributeError
isinstance(Spy(), P)
