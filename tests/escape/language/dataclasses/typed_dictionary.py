"""Make a dataclass of a typed dictionary whose keys are code."""

# stopped: raises TypeError
# because: a dataclass is made from a class statement

from dataclasses import dataclass
from typing import TypedDict
dataclass(TypedDict("T", {"x or __import__('os')": int}))
escaped()
