"""Give a decimal context signals that have no memory of their own."""

# stopped: lost
# where: worker

import decimal
context = decimal.Context()
context.flags = type(context.flags)()
