"""Take all memory by the width of a format."""

# stopped: limited
# where: worker

f"{1:>{1 << 40}}"
