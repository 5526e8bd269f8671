"""Mark a builtin as abstract."""

# stopped: raises AttributeError
# because: has no attribute '__isabstractmethod__'

from abc import abstractmethod
abstractmethod(len)
escaped()
