"""Change a dictionary while it is being walked over."""

# stopped: raises RuntimeError
# because: dictionary changed size during iteration

held = {1: 1}
for key in held: held[key + 1] = 1
escaped()
