"""Write any attribute by `dataclasses.replace`."""

# stopped: raises TypeError
# because: replace() should be called on dataclass instances

import dataclasses
dataclasses.replace(secret, _hidden=1)
escaped()
