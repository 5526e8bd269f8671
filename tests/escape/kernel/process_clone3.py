"""Start a process with clone3, whose flags no filter can read. Seccomp kills it."""

# stopped: killed
# alone: seccomp rlimits

arguments = (ctypes.c_uint64 * 11)(0, 0, 0, 0, 17)
child = raw("clone3", ctypes.byref(arguments), ctypes.sizeof(arguments))
if child == 0:
    os._exit(0)
child
