"""The same by a pattern, which has no guard."""

# stopped: refused
# because: a pattern cannot read the attribute `flags`

import decimal
match decimal.Context():
    case decimal.Context(flags=flags):
        escaped()
