"""Read where a class comes from, and get more than its name."""

# stopped: harmless

import json
for value in (int, json.JSONEncoder, json.dumps, print, json, type(secret)):
    try:
        if type(value.__module__) is not str:
            escaped()
    except AttributeError:
        pass
None
