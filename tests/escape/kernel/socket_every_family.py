"""Make a socket of the first family that lets us. Seccomp kills it at the first."""

# stopped: killed
# alone: seccomp

opened = []
for family in range(1, 46):
    try:
        opened.append((family, raw("socket", family, 2, 0)))
    except OSError:
        continue
opened
