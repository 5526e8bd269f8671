"""Read what the encoder's module imports."""

# stopped: raises AttributeError
# because: has no private attributes

import json
take(json.JSONEncoder._encoder)
escaped()
