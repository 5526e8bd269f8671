"""Use the module that lists every object."""

# stopped: raises AttributeError
# because: module 'gc' has no attribute 'get_objects' here

import gc
for name in ("get_referrers", "get_referents", "garbage", "callbacks", "freeze", "disable", "set_debug"):
    if hasattr(gc, name):
        escaped()
take(gc.get_objects())
