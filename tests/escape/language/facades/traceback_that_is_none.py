"""Have `extract_tb` walk an object of one's own."""

# stopped: raises TypeError
# because: a traceback was due, not a `Own`

import traceback
class Own: pass
o = Own()
traceback.extract_tb(o)
