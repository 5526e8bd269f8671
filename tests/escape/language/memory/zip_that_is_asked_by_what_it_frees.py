"""Ask a `zip_longest` while it frees a list that it has read, so that an iterator is freed twice."""

# stopped: harmless

import itertools
def last():
    try: yield
    finally:
        try: next(items)
        except (StopIteration, ValueError): pass
def freed_with_its_iterator():
    item = last()
    next(item)
    return iter([item])
for _ in range(200):
    items = itertools.zip_longest(freed_with_its_iterator(), range(5))
    for pair in items: del pair
    [iter([]) for _ in range(50)]
None
