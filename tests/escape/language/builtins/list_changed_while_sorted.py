"""Change a list while it is being sorted."""

# stopped: raises ValueError
# because: list modified during sort

items = [3, 2, 1]
def key(item):
    items.append(item)
    return item
items.sort(key=key)
escaped()
