"""Take all memory by the precision of a decimal."""

# stopped: limited
# where: worker

import decimal
decimal.getcontext().prec = 10 ** 17
decimal.Decimal(1) / 3
