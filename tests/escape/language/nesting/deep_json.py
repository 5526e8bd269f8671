"""Exhaust the stack by a deep text of JSON."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

import json
json.loads("[" * 200_000)
