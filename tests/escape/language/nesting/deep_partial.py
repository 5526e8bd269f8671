"""Call partials that are deeper than the stack."""

# stopped: raises RecursionError or limited
# where: worker

from functools import partial
call = abs
for _ in range(500_000): call = partial(lambda f, x: f(x), call)
call(1)
escaped()
