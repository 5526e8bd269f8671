"""Raise a group of its own in the handler of another."""

# stopped: raises TypeError
# because: derive must return an instance of BaseExceptionGroup

class Group(ExceptionGroup):
    def derive(self, errors): return secret
    def split(self, condition): return 1
try:
    try:
        raise ExceptionGroup("x", [ValueError(), TypeError()])
    except* ValueError:
        raise Group("y", [KeyError()])
except* KeyError:
    escaped()
