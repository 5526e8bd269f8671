"""Choose a metaclass by unpacked keywords."""

# stopped: raises TypeError
# because: a class cannot choose its metaclass

class C(**{'metaclass': print}): pass
escaped()
