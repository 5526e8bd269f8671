"""Read the ancestry of a class by its attribute."""

# stopped: raises AttributeError
# because: `__mro__` is shown of your own classes only

import json
take(json.JSONEncoder.__mro__)
