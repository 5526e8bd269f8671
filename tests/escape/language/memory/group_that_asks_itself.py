"""Advance a grouping while it compares."""

# stopped: harmless

import itertools
class C:
    asked = 0
    def __eq__(self, other):
        C.asked += 1
        if C.asked < 50:
            next(groups, None)
        return False
groups = itertools.groupby([C() for _ in range(200)])
for key, group in groups:
    list(group)
None
