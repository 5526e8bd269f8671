"""Write data that is deeper than the stack."""

# stopped: raises RecursionError or harmless
# where: worker

import json
items = []
for _ in range(200_000): items = [items]
json.dumps(items)
None
