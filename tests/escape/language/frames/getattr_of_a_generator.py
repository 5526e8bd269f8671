"""Read the frame of a generator by `getattr`."""

# stopped: raises AttributeError
# because: reaches into the interpreter

take(getattr((n for n in ()), 'gi_frame'))
