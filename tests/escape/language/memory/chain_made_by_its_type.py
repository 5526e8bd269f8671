"""Make an iterator that can be re-entered by the type of one that cannot."""

# stopped: raises TypeError
# because: a `chain` cannot be made this way

import itertools
def test(item):
    list(items)
    return False
items = type(itertools.chain([1]))(filter(test, [1, 2, 3]))
list(items)
