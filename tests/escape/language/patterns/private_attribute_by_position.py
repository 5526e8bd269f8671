"""Read a private attribute by a positional pattern of a dataclass."""

# stopped: raises TypeError
# because: accepts 0 positional sub-patterns

from dataclasses import dataclass
from typing import Sized
@dataclass
class Like(Sized):
    _hidden: object = None
    def __len__(self): return 0
Like.register(type(secret))
match secret:
    case Like(found): escaped()
