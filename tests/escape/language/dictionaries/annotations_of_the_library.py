"""Read the annotations of a library's function, which are classes."""

# stopped: raises AttributeError
# because: a `function` does not show its annotations

import dataclasses
dataclasses.field.__annotations__
