"""Let two metaclasses meet in one class."""

# stopped: raises TypeError
# because: metaclass conflict

from enum import Enum
from typing import Sized
class C(Sized, Enum): A = 1
escaped()
