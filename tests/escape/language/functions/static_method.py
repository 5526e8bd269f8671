"""Unwrap a static method."""

# stopped: raises AttributeError
# because: `__func__` is shown of your own methods only

take(staticmethod(print).__func__)
