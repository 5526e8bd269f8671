"""Learn the handle of the root, to open by it later. Seccomp kills it."""

# stopped: killed
# alone: seccomp

handle = (ctypes.c_uint32 * 34)(128)
raw("name_to_handle_at", -100, b"/", handle, ctypes.byref(ctypes.c_int()), 0) == 0
