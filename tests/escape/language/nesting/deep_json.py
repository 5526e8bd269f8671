"""Read text that is deeper than the stack."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

import json
json.loads("[" * 200_000)
escaped()
