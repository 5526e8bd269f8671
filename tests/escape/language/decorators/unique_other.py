"""Let `unique` read the members of what is no enum."""

# stopped: raises AttributeError
# because: 'Secret' object has no attribute '__members__'

from enum import unique
unique(secret)
escaped()
