"""Follow the traceback of an error's context."""

# stopped: raises AttributeError
# because: `tb_next` reaches into the interpreter

try:
    try:
        1 / 0
    except Exception:
        1 / 0
except Exception as error:
    take(getattr(error.__context__.__traceback__, "tb_" "next"))
