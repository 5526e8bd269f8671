"""Import a private name of `caps`, which holds the channel."""

# stopped: refused
# because: is private to

from caps import _domains
take(_domains)
