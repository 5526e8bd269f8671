"""Give `getattr` a name with a letter that identifiers would fold."""

# stopped: raises AttributeError
# because: reaches into the interpreter

take(getattr(print, "__ｇlobals__"))
