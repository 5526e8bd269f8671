"""Write first, make it executable afterwards. Seccomp refuses mprotect."""

# stopped: refused
# alone: seccomp
# control: works

import mmap

page = mmap.mmap(-1, 4096)
raw("mprotect", ctypes.addressof(ctypes.c_char.from_buffer(page)), 4096, 5) == 0
