"""Get the real `type` as the type of a class."""

# stopped: raises TypeError
# because: write a class statement

take(type(int))
type(int)('X', (), {})
