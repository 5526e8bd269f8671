"""Find the guards among the globals of the program."""

# stopped: harmless

take(globals())
[name for name in globals() if name.startswith(("__b", "<"))]
