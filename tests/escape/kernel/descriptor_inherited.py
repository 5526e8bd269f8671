"""Look for a descriptor that was left open, from 1 to 1023.

The worker was given its channel alone.
"""

# stopped: harmless
# alone: none
# control: works

found = []
for descriptor in range(1, 1024):
    try:
        found.append((descriptor, os.fstat(descriptor).st_mode))
    except OSError:
        continue
found
