"""Have `wraps` write into a library's object."""

# stopped: raises AttributeError
# because: 'Secret' object has no attribute '__name__'

import functools
functools.wraps(lambda: 0)(secret)
functools.update_wrapper(secret, lambda: 0, ("_hidden",), ("__dict__",))
secret.__name__
escaped()
