"""Read the traceback of an error by keyword."""

# stopped: refused
# because: `__traceback__` reaches into the interpreter

try:
    1 / 0
except ZeroDivisionError as error:
    match error:
        case Exception(__traceback__=trace):
            take(trace)
