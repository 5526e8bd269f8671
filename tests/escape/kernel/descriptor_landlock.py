"""Get a new descriptor as a Landlock ruleset. Seccomp refuses it."""

# stopped: refused
# alone: seccomp rlimits

rules = (ctypes.c_uint64 * 1)(1)
raw("landlock_create_ruleset", rules, 8, 0) >= 0
