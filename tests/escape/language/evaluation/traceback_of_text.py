"""Read the frame of text that failed."""

# stopped: refused
# because: `tb_frame` reaches into the interpreter

try:
    exec("1 / 0")
except ZeroDivisionError as error:
    take(error.__traceback__.tb_frame)
