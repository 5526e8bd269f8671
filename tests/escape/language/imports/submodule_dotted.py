"""Import a submodule by its dotted name."""

# stopped: raises ModuleNotFoundError
# because: `json.decoder` cannot be imported here

import json.decoder as d
take(d)
