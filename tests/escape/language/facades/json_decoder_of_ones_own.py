"""Have a class called with arguments of the library's."""

# stopped: harmless

import json
class D:
    def __init__(self, **options): take(list(options.values()))
    def decode(self, text): return None
json.loads("1", cls=D)
