"""Learn the names that lead further by `dir`."""

# stopped: harmless

[name for name in dir(print) + dir(secret) if name.startswith("_")]
