"""Break the report by an error whose `str` is not a string."""

# stopped: raises E
# because: (its message raised TypeError)
# where: worker

class E(Exception):
    def __str__(self): return 1
raise E
