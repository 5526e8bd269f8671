"""Replace what a partial calls by its state."""

# stopped: refused
# because: reaches into the interpreter

from functools import partial
partial(print).__setstate__((take, (), {}, {}))
escaped()
