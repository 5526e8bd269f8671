"""Read a guarded attribute by its place in a pattern."""

# stopped: raises TypeError
# because: C() accepts 0 positional sub-patterns (1 given)

class C(AttributeError):
    __match_args__ = ("obj", "__traceback__")
try:
    secret.nothing
except AttributeError as error:
    got = error
class Any_(type(got)):
    __match_args__ = ("obj",)
for one in (got, C()):
    match one:
        case C(a):
            escaped()
        case Any_(a):
            escaped()
        case _:
            pass
