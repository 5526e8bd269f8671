"""Read the abstract methods of a class that the code did not define."""

# stopped: raises AttributeError
# because: shown of your own classes only

import collections.abc

collections.abc.Mapping.__abstractmethods__
