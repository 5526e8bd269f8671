"""Break the report by causes in a ring."""

# stopped: raises ValueError
# because: one

one, two = ValueError("one"), ValueError("two")
try:
    raise one from two
except ValueError:
    pass
try:
    raise two from one
except ValueError:
    pass
raise one
