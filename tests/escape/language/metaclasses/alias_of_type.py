"""Get the real `type` through the alias that `type[int]` is."""

# stopped: refused
# because: reaches into the interpreter

take(type[int].__origin__)
