"""Get at the metaclass of abstract classes by its methods."""

# stopped: raises AttributeError
# because: `__self__` is shown of your own methods only

from abc import ABC
take(type(ABC.register))
ABC.register.__self__
