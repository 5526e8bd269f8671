"""Read the function behind the guarded `getattr`."""

# stopped: raises AttributeError
# because: `__func__` is shown of your own methods only

take(getattr.__func__)
