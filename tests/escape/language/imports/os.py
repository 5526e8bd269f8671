"""Reach the system by the pure part of `os`."""

# stopped: harmless

import os
take(os)
for name in ("system", "open", "listdir", "popen", "fork", "sys", "path"):
    found = getattr(os, name, None)
    take(found)
    if found is not None and name != "path":
        escaped()
for name in dir(os.path):
    take(getattr(os.path, name))
if os.environ:
    escaped()
