"""Read where nothing is. The process exits and harms nothing else."""

# stopped: lost
# alone: none

ctypes.string_at(0)
