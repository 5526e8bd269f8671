"""Set a trace on a frame."""

# stopped: refused
# because: reaches into the interpreter

def f(frame): frame.f_trace = print
