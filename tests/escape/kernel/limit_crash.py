"""Read where nothing is. The process dies and takes nothing along."""

# stopped: lost
# alone: none

ctypes.string_at(0)
