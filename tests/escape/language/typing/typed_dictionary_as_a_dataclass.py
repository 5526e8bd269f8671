"""Have the keys of a typed dictionary become fields, which are code."""

# stopped: raises ValueError
# because: 'a=escaped()' cannot be the name of a field

from dataclasses import dataclass
from typing import TypedDict

T = TypedDict("T", {"a=escaped()": int})

@dataclass
class C(T): pass
C()
