"""Write data that is deeper than the stack."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

import json
items = []
for _ in range(200_000): items = [items]
json.dumps(items)
escaped()
