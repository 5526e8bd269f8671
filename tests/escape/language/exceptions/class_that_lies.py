"""Pose as an error of the host by the name of a class."""

# stopped: raises PolicyDeniedError
# because: granted

class PolicyDeniedError(Exception): pass
raise PolicyDeniedError("granted")
