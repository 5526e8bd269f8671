"""Read a frame by a keyword pattern."""

# stopped: refused
# because: reaches into the interpreter

match (n for n in ()):
    case object(gi_frame=f): take(f)
