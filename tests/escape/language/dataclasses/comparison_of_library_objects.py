"""Get a library's private attribute by the comparison that a dataclass was given."""

# stopped: raises TypeError
# because: a `Mine` was due, not a `Secret`

from dataclasses import dataclass

@dataclass(order=True)
class Mine:
    _hidden: str

class Spy:
    def __eq__(self, other): take(other); escaped()

other = type(secret)()
Mine.__lt__(secret, other)
escaped()
