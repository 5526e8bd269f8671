"""Read the parameters of functions that are not the user's own, and through them their defaults."""

# stopped: raises ValueError
# because: not a function of your own

import inspect, json
class Lying:
    def __getattr__(self, name): take(name); raise AttributeError(name)
for one in (json.dumps, inspect.cleandoc, print, eval, Lying(), 1):
    try:
        inspect.getfullargspec(one)
        escaped()
    except (TypeError, ValueError, AttributeError):
        pass
inspect.getfullargspec(json.dumps)
escaped()
