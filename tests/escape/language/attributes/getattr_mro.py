"""Read the ancestry of a class by `getattr`."""

# stopped: raises AttributeError
# because: `mro` is not accessible in the sandbox

import json
take(getattr(json.JSONEncoder, 'mro')())
