"""Break the report by groups within groups."""

# stopped: raises ExceptionGroup
# because: g (1 sub-exception)
# where: worker

error = ValueError("x")
for _ in range(100_000):
    error = ExceptionGroup("g", [error])
raise error
