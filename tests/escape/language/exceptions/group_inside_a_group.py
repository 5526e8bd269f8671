"""Hide a group of its own inside a plain one."""

# stopped: raises TypeError
# because: derive must return an instance of BaseExceptionGroup

class Group(ExceptionGroup):
    def split(self, condition): return "no tuple"
    def derive(self, errors): return "no group"
try:
    raise ExceptionGroup("x", [Group("y", [ValueError(), TypeError()]), KeyError()])
except* ValueError:
    escaped()
