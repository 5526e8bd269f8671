"""Put a class of one's own among the traps of a context."""

# stopped: raises KeyError
# because: valid values for signals are

import decimal
decimal.Context(traps=[secret])
escaped()
