"""The same by an enum of a library, which is not checked."""

# stopped: raises TypeError or raises ValueError
# because: <enum 'E'> cannot extend <flag 'RegexFlag'>
# because: is not a valid RegexFlag

import re
re.RegexFlag("E", {"__getattribute__": 1})
