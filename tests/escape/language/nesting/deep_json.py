"""Exhaust the stack by a deep text of JSON."""

# stopped: raises RecursionError or raises JSONDecodeError
# because: maximum recursion depth exceeded
# because: Expecting value
# where: worker

import json
json.loads("[" * 200_000)
