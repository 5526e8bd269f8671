"""Read the dictionary of a library's function."""

# stopped: raises AttributeError
# because: a `function` does not show its `__dict__`

import textwrap
textwrap.dedent.__dict__
