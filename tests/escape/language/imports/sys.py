"""Reach modules and frames by the pure part of `sys`."""

# stopped: harmless

import sys
take(sys)
for name in ("modules", "settrace", "setprofile", "path", "meta_path", "stdin"):
    if getattr(sys, name, None) is not None:
        escaped()
for name in dir(sys):
    take(getattr(sys, name))
