"""Read a library's private attribute by the text of a namespace."""

# stopped: raises TypeError
# because: a `SimpleNamespace` was due, not a `Secret`

from types import SimpleNamespace
if "loot" in SimpleNamespace.__repr__(secret):
    escaped()
