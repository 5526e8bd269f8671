"""Have the report read notes that are not a list of strings."""

# stopped: raises ValueError
# because: x

class Notes(list):
    def __getitem__(self, index): return [escaped]
error = ValueError("x")
error.add_note("a")
error.__notes__.append(secret)
raise error
