"""Read the globals by `operator.attrgetter`."""

# stopped: raises AttributeError
# because: `__globals__` reaches into the interpreter

from operator import attrgetter
take(attrgetter('__globals__')(print))
