"""Read the globals by `operator.attrgetter`."""

# stopped: raises ImportError
# because: cannot import name 'attrgetter'

from operator import attrgetter
take(attrgetter('__globals__')(print))
