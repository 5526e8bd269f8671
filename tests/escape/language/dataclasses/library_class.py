"""Make a dataclass of a library's class."""

# stopped: raises TypeError
# because: a dataclass is made from a class statement

from dataclasses import dataclass
from collections import Counter
dataclass(Counter)
escaped()
