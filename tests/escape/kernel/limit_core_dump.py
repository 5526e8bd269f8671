"""Have a crash handler of the host run as root on the worker's memory, by lowering a limit.

The limit of core dumps is 1, with which the kernel neither writes a core nor runs a handler that
`core_pattern` pipes to; with 0 it runs the handler. Seccomp refuses to set it.
"""

# stopped: refused
# alone: seccomp

raw("prlimit64", 0, 4, (ctypes.c_uint64 * 2)(0, 1), None) == 0
