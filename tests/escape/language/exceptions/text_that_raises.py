"""Break the report by an error whose text raises."""

# stopped: raises E
# because: (its message raised SystemExit)
# where: worker

class E(Exception):
    def __str__(self): raise SystemExit(1)
    def __repr__(self): raise SystemExit(1)
raise E
