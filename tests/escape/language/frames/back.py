"""Climb from a frame to the one that called it."""

# stopped: refused
# because: reaches into the interpreter

def f(frame): take(frame.f_back)
