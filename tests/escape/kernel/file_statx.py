"""Ask with statx, the newer stat. Seccomp refuses what it does not list."""

# stopped: refused
# alone: seccomp
# control: works

raw("statx", -100, b"/", 0, 0xFFF, ctypes.create_string_buffer(256)) == 0
