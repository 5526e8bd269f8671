"""Read past the end of a buffer."""

# stopped: raises IndexError
# because: index out of bounds

view = memoryview(bytearray(8)).cast("B", (2, 4))
view[7, 7]
escaped()
