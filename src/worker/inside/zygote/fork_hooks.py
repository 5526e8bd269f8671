"""What a child does for the standard library right after a fork: new random numbers, nothing else.

`random` registers a hook in Python for it, which costs a child the copies of some forty pages. So
it is imported without its hook, and each worker calls the function beneath.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

_register = os.register_at_fork
_hooks: list[dict[str, Any]] = []
os.register_at_fork = lambda **hooks: _hooks.append(hooks)
try:
    import _random
    import random
finally:
    os.register_at_fork = _register

_shared: random.Random = random._inst
# Looked up here, so that a worker need not: each object that it uses may be a page that it copies.
_seed: Callable[[], None] = _random.Random.seed.__get__(_shared)
_state = vars(_shared)
for _hook in _hooks:
    if _hook != {"after_in_child": _shared.seed}:  # not known, so it is kept
        _register(**_hook)


def reseed() -> None:
    """Seed the shared generator, as the hook would: `Random.seed` without its work on arguments."""
    _seed()
    # The second number of a pair, of which something that was loaded before has used the first.
    _state["gauss_next"] = None
