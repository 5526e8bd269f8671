"""Let `unique` read the members of a class that is not an enum."""

# stopped: raises AttributeError
# because: 'Secret' object has no attribute '__members__'

from enum import unique
unique(secret)
escaped()
