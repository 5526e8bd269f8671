"""Look for a descriptor that was left open above the usual limit. All were closed before."""

# stopped: harmless
# alone: none

found = []
for descriptor in [*range(1024, 70_000), (1 << 20) - 1, 1 << 20, (1 << 30) - 1]:
    try:
        found.append((descriptor, os.fstat(descriptor).st_mode))
    except OSError:
        continue
found
