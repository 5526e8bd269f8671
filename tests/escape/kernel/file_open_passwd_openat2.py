"""Open with openat2, which filters written before it forget.

Seccomp refuses what it does not list.
"""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

how = (ctypes.c_uint64 * 3)(os.O_RDONLY, 0, 0)
raw("openat2", -100, b"/etc/passwd", ctypes.byref(how), ctypes.sizeof(how)) >= 0
