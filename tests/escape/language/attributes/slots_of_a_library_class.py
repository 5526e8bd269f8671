"""Read what a library class keeps in its slots."""

# stopped: raises AttributeError
# because: does not show its `__slots__`

import fractions
class F(fractions.Fraction): pass
take(F.__slots__)
escaped()
