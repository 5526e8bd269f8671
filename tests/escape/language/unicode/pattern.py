"""Write the keyword of a pattern with a letter that Unicode folds to another."""

# stopped: refused
# because: reaches into the interpreter

match (n for n in ()):
    case object(ｇi_frame=found): take(found)
