"""Answer the question for parameters with something else."""

# stopped: harmless

from typing import Generic, List, TypeVar

class Spy:
    def __call__(self): pass
    def __getattr__(self, name): escaped()

T = TypeVar("T")
List[Spy()]
Generic[T][Spy()] if hasattr(Generic[T], "x") else None
