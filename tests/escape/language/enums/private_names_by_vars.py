"""Read the private names of an enum by `vars`."""

# stopped: raises KeyError
# because: '_new_member_'

from enum import Enum
class E(Enum): A = 1
take(vars(E)['_new_member_'])
escaped()
