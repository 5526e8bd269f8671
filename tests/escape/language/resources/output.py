"""Print without end."""

# stopped: limited
# where: worker

while True: print("x" * 1000)
