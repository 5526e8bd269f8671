"""The same by an enum of a library, which is not checked."""

# stopped: raises TypeError
# because: <enum 'E'> cannot extend <flag 'RegexFlag'>

import re
re.RegexFlag("E", {"__getattribute__": 1})
