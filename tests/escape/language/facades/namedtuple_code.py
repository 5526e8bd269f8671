"""Run code that is the name of a field of a named tuple."""

# stopped: raises ValueError
# because: cannot be the name of a field

from collections import namedtuple
namedtuple('N', ['x or __import__(1)'])
escaped()
