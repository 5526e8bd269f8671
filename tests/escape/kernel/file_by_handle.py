"""Open a file by its inode number, past every directory. Seccomp kills it."""

# stopped: killed
# alone: identity seccomp

handle = (ctypes.c_uint32 * 8)(8, 1, 2, 0)
raw("open_by_handle_at", 0, handle, os.O_RDONLY) >= 0
