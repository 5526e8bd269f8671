"""Add a member to an enum that is made."""

# stopped: raises TypeError
# because: <enum 'F'> cannot extend <enum 'E'>

from enum import Enum
class E(Enum): A = 1
class F(E): B = 2
escaped()
