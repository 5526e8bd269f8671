"""Read the ancestry of a class by its method."""

# stopped: raises AttributeError
# because: `mro` is not accessible in the sandbox

import json
take(json.JSONEncoder.mro())
