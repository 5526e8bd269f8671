"""Have `except*` make groups by a `derive` of its own."""

# stopped: raises TypeError
# because: `except*` handles plain exception groups only

class Group(ExceptionGroup):
    def derive(self, errors): escaped(); return secret
try:
    raise Group("x", [ValueError(), TypeError()])
except* ValueError:
    pass
