"""Allocate all memory in one step."""

# stopped: limited
# where: worker

"x" * (1 << 40)
