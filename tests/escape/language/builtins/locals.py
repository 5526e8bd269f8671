"""Find the variables of a library that calls us back."""

# stopped: harmless

import contextlib
found = []
with contextlib.ExitStack() as stack:
    stack.callback(lambda: found.append(locals()))
for one in found:
    if "stack" in one or "exc" in one or "self" in one:
        escaped()
take([value for one in found for value in one.values()])
