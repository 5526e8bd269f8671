"""Get an object of the encoder's own by its hook."""

# stopped: harmless

import json
class E(json.JSONEncoder):
    def default(self, value): take(value); return None
json.dumps(secret, cls=E) and None
