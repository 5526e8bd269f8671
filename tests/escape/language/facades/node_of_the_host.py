"""Learn the network address of the host."""

# stopped: raises ImportError
# because: cannot import name 'getnode'

from uuid import getnode
escaped()
