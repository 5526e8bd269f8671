"""Load another shared library. There is no file, and none may be mapped to be executed."""

# stopped: harmless
# alone: root landlock seccomp rlimits
# control: works

try:
    loaded = ctypes.CDLL("libBrokenLocale.so.1")._name
except OSError:
    loaded = None
loaded
