"""Write into the attributes of a class by `vars`."""

# stopped: raises AttributeError
# because: 'C' object has no attribute 'nothing'

from operator import setitem
class C: pass
setitem(vars(C), "__getattr__", print)
take(C().nothing)
escaped()
