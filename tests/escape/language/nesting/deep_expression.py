"""Exhaust the stack by a deep regular expression."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

import re
re.compile("(" * 50_000 + ")" * 50_000)
