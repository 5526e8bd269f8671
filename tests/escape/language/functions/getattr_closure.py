"""Read the cells of `print` by `getattr`."""

# stopped: raises AttributeError
# because: reaches into the interpreter

take(getattr(print, "__clo" "sure__"))
