"""Give an error a traceback of its own."""

# stopped: raises AttributeError
# because: reaches into the interpreter

error = ValueError()
setattr(error, "__traceback__", None)
escaped()
