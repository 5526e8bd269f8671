"""Read the globals as an item."""

# stopped: raises TypeError
# because: is not subscriptable

from operator import itemgetter
take(itemgetter("__globals__")(print))
