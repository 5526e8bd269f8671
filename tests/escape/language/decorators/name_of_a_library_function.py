"""Rename a function of a library's."""

# stopped: raises AttributeError
# because: `__name__` can be set of your own functions and classes only

import textwrap
textwrap.dedent.__name__ = "x"
escaped()
