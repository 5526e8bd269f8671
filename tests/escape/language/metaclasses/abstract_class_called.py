"""Make a class by calling the stand-in for the metaclass of abstract classes."""

# stopped: raises TypeError
# because: a `ABCMeta` cannot be made this way

from abc import ABCMeta
ABCMeta("X", (), {})
