"""Take something powerful from the dictionary of a builtin class."""

# stopped: harmless

for kind in (int, str, object, dict, BaseException, AttributeError, property, classmethod, memoryview):
    for name, value in kind.__dict__.items():
        take(value)
        if name in ("format", "format_map", "__init__", "__new__", "__reduce_ex__", "obj", "__getattribute__"):
            escaped()
    kind.__dict__["added"] = 1
    if hasattr(kind, "added"):
        escaped()
try:
    type.__dict__
    escaped()
except AttributeError:
    pass
