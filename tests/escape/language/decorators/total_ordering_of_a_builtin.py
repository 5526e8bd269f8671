"""Write methods into a builtin class."""

# stopped: raises ValueError
# because: must define at least one ordering operation: < > <= >=

from functools import total_ordering
total_ordering(object)
escaped()
