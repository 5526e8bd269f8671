"""Have an enum share the members of its base, and add one there."""

# stopped: raises TypeError
# because: `_simple` is private to `enum`

import enum

class E(enum.Enum, _simple=True):
    A = 1

E._member_map_["added"] = "loot"
if enum.Enum["added"] == "loot":
    escaped()
