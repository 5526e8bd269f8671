"""Break the report by an error whose text never ends."""

# stopped: raises E
# because: (its message raised RecursionError)
# where: worker

class E(Exception):
    def __str__(self): return str(self)
raise E
