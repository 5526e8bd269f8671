"""Read an attribute by a format that `partial` calls."""

# stopped: raises ValueError
# because: a format cannot read attributes

from functools import partial
partial('{0.real}'.format, 1)()
escaped()
