"""Take all memory, item by item."""

# stopped: limited
# where: worker

items = []
while True: items.append(bytearray(1 << 20))
