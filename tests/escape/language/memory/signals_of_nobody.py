"""Give a decimal context signals that have no memory of their own."""

# stopped: raises TypeError
# because: a `SignalDict` cannot be made this way

import decimal
context = decimal.Context()
context.flags = type(context.flags)()
