"""Raise something that is not an exception."""

# stopped: raises TypeError
# because: exceptions must derive from BaseException

raise secret
