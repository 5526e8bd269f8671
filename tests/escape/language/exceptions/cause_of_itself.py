"""Break the report by an error that is its own cause."""

# stopped: raises ValueError
# because: x

error = ValueError("x")
raise error from error
