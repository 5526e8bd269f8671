"""Start a shell through popen of the C library. Seccomp refuses its pipe."""

# stopped: refused
# alone: root landlock seccomp rlimits
# control: works

libc.popen.restype = ctypes.c_void_p
stream = libc.popen(b"exit 0", b"r")
if not stream:
    raise OSError(ctypes.get_errno(), "popen")
libc.pclose(ctypes.c_void_p(stream))
"started"
