"""Make a device file for the memory of the machine.

Seccomp refuses it, and no capability allows it.
"""

# stopped: refused
# alone: identity

import stat

os.mknod("memory", stat.S_IFCHR | 0o600, os.makedev(1, 1))
"made"
