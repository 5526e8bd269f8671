"""Get more than a match handed to a replacement."""

# stopped: harmless

import re
re.sub("a", lambda match: take([match, match.re, match.string]) or "b", "a") and None
