"""Go from the traceback of a context to its frame by a pattern."""

# stopped: raises AttributeError
# because: reaches into the interpreter

try:
    try:
        1 / 0
    except Exception:
        raise ValueError
except Exception as e:
    for name in ("tb_next", "tb_frame"):
        take(getattr(e.__context__.__traceback__, name))
