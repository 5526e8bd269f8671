"""Take the text of an error away while the error is shown."""

# stopped: lost or harmless or raises TypeError
# where: worker

class Reason(str):
    def __str__(self): del error.object; return "reason"
error = UnicodeEncodeError("x", "text", 0, 1, Reason())
str(error)
None
