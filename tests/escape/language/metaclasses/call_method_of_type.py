"""Make a class by the call method of `type`."""

# stopped: raises TypeError
# because: write a class statement

take(type.__call__('X', (), {}))
