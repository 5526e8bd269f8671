"""Change the defaults of the guarded `getattr`."""

# stopped: refused
# because: reaches into the interpreter

getattr.__defaults__ = ()
escaped()
