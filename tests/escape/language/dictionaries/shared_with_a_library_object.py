"""Share a dictionary between an object of one's own and one with private state of a library."""

# stopped: raises AttributeError
# because: belongs to the library

import random
class Plain: ...
class Dice(random.Random): ...
shared = {}
plain, dice = Plain(), Dice()
plain.__dict__ = shared
dice.__dict__ = shared
plain._randbelow = escaped
dice.randint(1, 6)
