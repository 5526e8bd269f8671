"""Read the cells that `print` closes over."""

# stopped: refused
# because: reaches into the interpreter

take(print.__closure__[0].cell_contents)
