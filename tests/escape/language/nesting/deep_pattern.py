"""Compile a regular expression that is deeper than the stack."""

# stopped: raises RecursionError
# because: maximum recursion depth exceeded
# where: worker

import re
re.compile("(" * 20_000 + ")" * 20_000)
escaped()
