"""Copy a list that is deeper than the stack."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

import copy
items = []
for _ in range(200_000): items = [items]
copy.deepcopy(items)
escaped()
