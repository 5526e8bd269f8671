"""Keep the method by name in a library's object."""

# stopped: raises ValueError
# because: `0.__class__`: a format cannot read attributes; use an f-string

import functools
functools.partial(str.format, "{0.__class__}")(1)
escaped()
