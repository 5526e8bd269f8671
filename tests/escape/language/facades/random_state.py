"""Let the generator of random numbers read past its state."""

# stopped: raises ValueError
# because: invalid state

import random
random.Random().setstate((3, (1,) * 624 + (10_000,), None))
escaped()
