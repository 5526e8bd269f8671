"""Empty a list by the key that it is sorted by."""

# stopped: raises TypeError
# because: '<' not supported between instances of 'NoneType' and 'NoneType'

items = list(range(100))
items.sort(key=lambda one: items.clear())
