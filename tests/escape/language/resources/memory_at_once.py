"""Take all memory at once."""

# stopped: limited
# where: worker

"x" * (1 << 40)
