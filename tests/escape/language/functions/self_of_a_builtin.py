"""Read the builtins module as the `__self__` of a builtin."""

# stopped: raises AttributeError
# because: `__self__` is shown of your own methods only

take(len.__self__)
