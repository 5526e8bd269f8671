"""Read hidden attributes by `inspect.getmembers`."""

# stopped: harmless

import inspect, json
for value in (secret, print, json, json.dumps, getattr, inspect.signature):
    for name, found in inspect.getmembers(value):
        take(found)
        if name.startswith("_hidden") or name == "__globals__":
            escaped()
None
