"""Go from the traceback of an error to its frame."""

# stopped: raises AttributeError
# because: reaches into the interpreter

try:
    1 / 0
except Exception as e:
    take(getattr(e.__traceback__, "tb_" + "frame"))
