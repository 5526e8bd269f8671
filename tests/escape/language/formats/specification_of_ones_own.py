"""Get the formatter's insides by a `__format__` of its own."""

# stopped: harmless

class C:
    def __format__(self, spec): take(spec); return str(type(spec))
"{:{}}".format(C(), "x") == "x"
