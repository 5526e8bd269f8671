"""Learn how large and how busy the machine is. Seccomp refuses sysinfo."""

# stopped: refused
# alone: seccomp
# control: works

raw("sysinfo", ctypes.create_string_buffer(128)) == 0
