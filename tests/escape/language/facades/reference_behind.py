"""Make a weak reference with a callback to any object, by the class behind it."""

# stopped: raises TypeError
# because: use `weakref.ref`

import weakref
class Own: ...
kept = Own()
behind = weakref.ref(kept)._get
type(behind)({1}, escaped)
