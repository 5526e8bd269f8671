"""Have an error show a byte that is far before its bytes."""

# stopped: harmless

error = UnicodeDecodeError("x", bytes(10), 0, 1, "r")
error.start, error.end = 20, 21
"byte 0x" in str(error)
