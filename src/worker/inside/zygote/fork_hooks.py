"""What a child does for the standard library right after a fork: new random numbers, nothing else.

`random` registers a hook in Python for it, which costs a child the copies of some forty pages. So
it is imported without its hook, and each worker calls the function beneath.
"""

from __future__ import annotations

import functools
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
for _hook in _hooks:
    if _hook != {"after_in_child": _shared.seed}:  # not known, so it is kept
        _register(**_hook)

# What `Random.seed` calls. It also clears `gauss_next`, which is empty here: nobody has drawn a
# number before the fork.
reseed: Callable[[], None] = functools.partial(_random.Random.seed, _shared)
