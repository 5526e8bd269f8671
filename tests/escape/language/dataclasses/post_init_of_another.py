"""Run the hook after `__init__` for a library's object."""

# stopped: raises AttributeError
# because: 'Secret' object has no attribute '__post_init__'

from dataclasses import dataclass

@dataclass
class C:
    def __post_init__(self): self._hidden = "mine"

C.__init__(secret)
escaped()
