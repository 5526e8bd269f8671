"""Give an error something else for its traceback."""

# stopped: raises TypeError
# because: __traceback__ must be a traceback or None

ValueError().__traceback__ = secret
escaped()
