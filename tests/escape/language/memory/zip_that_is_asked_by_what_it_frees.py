"""Ask a `zip_longest` while it frees a list that it has read, so that an iterator is freed twice."""

# stopped: harmless

import itertools
def last():
    try: yield
    finally:
        try: next(items)
        except (StopIteration, ValueError): pass
        kept.extend(iter(["kept"]) for _ in range(50))
def freed_with_its_iterator():
    item = last()
    next(item)
    return iter([item, None])
for _ in range(200):
    kept = []
    items = itertools.zip_longest(freed_with_its_iterator(), range(5), range(5))
    for pair in items: del pair
    more = [iter(["stolen"]) for _ in range(50)]
    if any(list(one) != ["kept"] for one in kept): escaped()
None
