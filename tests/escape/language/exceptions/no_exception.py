"""Raise what is no error."""

# stopped: raises TypeError
# because: exceptions must derive from BaseException

raise secret
