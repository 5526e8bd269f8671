"""Import a feature that changes the grammar."""

# stopped: refused
# because: invalid syntax

from __future__ import barry_as_FLUFL
1 <> 2
escaped()
