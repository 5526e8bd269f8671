"""Put an attribute into `type`."""

# stopped: raises TypeError
# because: cannot be changed

type.x = 1
escaped()
