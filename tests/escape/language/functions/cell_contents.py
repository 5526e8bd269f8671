"""Read what a cell holds."""

# stopped: refused
# because: reaches into the interpreter

def f(cell): take(cell.cell_contents)
