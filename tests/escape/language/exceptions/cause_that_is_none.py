"""Give an error a cause that is not an exception."""

# stopped: raises TypeError
# because: exception cause must be None or derive from BaseException

ValueError().__cause__ = secret
escaped()
