"""Initialise a partial function again while it is called."""

# stopped: harmless

import functools
class C:
    def __call__(self, *args, **names): return made.__init__(print) if False else len(args)
made = functools.partial(C(), *range(100))
made(1) == 1
