"""Make the root writable with mount_setattr. Seccomp refuses it; it needs a capability."""

# stopped: refused
# alone: identity privileges

raw("mount_setattr", -100, b"/", 0, ctypes.create_string_buffer(32), 32) == 0
