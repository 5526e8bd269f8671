"""Read the object behind the guarded `getattr`."""

# stopped: raises AttributeError
# because: `__self__` is shown of your own methods only

take(getattr.__self__)
