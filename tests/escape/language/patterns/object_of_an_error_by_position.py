"""Read the object of an error by position, with an error class of its own."""

# stopped: raises TypeError
# because: Missing() accepts 0 positional sub-patterns (1 given)

class Missing(AttributeError):
    __match_args__ = ("obj",)

try:
    raise Missing(obj=1)
except AttributeError as error:
    match error:
        case Missing(found):
            escaped()
