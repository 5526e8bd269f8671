"""Name a group `__class__` in a replacement."""

# stopped: raises IndexError
# because: unknown group name

import re
re.sub("(a)", r"\g<__class__>", "a")
escaped()
