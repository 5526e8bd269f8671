"""Pose as the channel by the error that ends an execution."""

# stopped: raises ProtocolError
# because: x

raise ProtocolError("x")
