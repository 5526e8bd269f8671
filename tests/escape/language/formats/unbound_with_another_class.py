"""Call `str.format` with an object that is not a string."""

# stopped: raises TypeError
# because: a template is a string, not a `C`

class C:
    def __str__(self): return "{0.__class__}"
str.format(C(), 1)
escaped()
