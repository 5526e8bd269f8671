"""Take what stands for the later members out of an enum that is being made."""

# stopped: harmless

import enum

seen = []

class E(enum.Enum):
    FIRST = 1
    SECOND = 2

    def __init__(self, value):
        seen.extend(vars(type(self)).values())

if any(type(one).__name__ == "_proto_member" for one in seen):
    escaped()
