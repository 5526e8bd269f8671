"""Import a feature that changes the grammar."""

# stopped: refused or raises ImportError
# because: invalid syntax
# because: cannot import name 'barry_as_FLUFL'

from __future__ import barry_as_FLUFL
1 <> 2
escaped()
