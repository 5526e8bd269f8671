"""Make a class with `type`."""

# stopped: raises TypeError
# because: write a class statement

take(type('X', (), {}))
