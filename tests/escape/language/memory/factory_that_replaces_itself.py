"""Free the factory of a dictionary, and its arguments, while it runs."""

# stopped: harmless

import collections, functools, typing
class Items:
    def __iter__(self):
        made.default_factory = None
        [(1, 2) for _ in range(50)]
        return iter([1])
for make in (collections.defaultdict, typing.DefaultDict) * 200:
    made = make(functools.partial(zip, Items(), Items(), Items()))
    made[1]
    made = make(functools.partial(sorted, Items()))
    made[1]
None
