"""Break the report by notes that are no texts."""

# stopped: raises ValueError
# because: x
# where: worker

class N(str):
    def __str__(self): raise SystemExit(1)
error = ValueError("x")
error.add_note(N("note"))
raise error
