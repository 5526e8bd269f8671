"""The same by a field of a dataclass, which is read without a guard."""

# stopped: raises TypeError
# because: `flags` cannot be a field of `C`

import dataclasses
import decimal

kept = []

@dataclasses.dataclass(init=False)
class C(decimal.Context):
    flags: object

    def __init__(self, flags=None):
        kept.append(flags)

dataclasses.replace(C())
if kept[1] is not None:
    escaped()
