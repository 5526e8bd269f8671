"""Call the hook of an abstract class of the library with a class of one's own."""

# stopped: raises AttributeError
# because: `__subclasshook__` can be called of your own classes only

from collections.abc import Sized
take(Sized.__subclasshook__)
