"""Learn by an import error where modules are."""

# stopped: harmless

try:
    import json.tool
except ImportError as error:
    found = error.path
try:
    from json import tool
except ImportError as error:
    found = found or error.path
found
