"""Get the type of the stand-in for `type`."""

# stopped: raises TypeError
# because: `type` takes one argument; write a class statement to make a class

take(type(type))
take(type(type(type)))
type(type(type))("X", (), {})
