"""Put a class of its own among the traps of a context."""

# stopped: raises KeyError
# because: valid values for signals are

import decimal
decimal.Context(traps=[secret])
escaped()
