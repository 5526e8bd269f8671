"""Make a generator from a frame."""

# stopped: raises TypeError
# because: a `generator` cannot be made this way

type(n for n in ())(print)
escaped()
