"""Get at what a context hides, with another object in its place: both hide something real."""

# stopped: raises TypeError
# because: a `Context` was due

import contextvars

take(contextvars.Context.copy(globals()))
