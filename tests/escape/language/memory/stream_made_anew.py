"""Initialise a stream again while its memory is read."""

# stopped: raises AttributeError
# because: a `BytesIO` cannot be initialized again in the sandbox

import io
stream = io.BytesIO(bytes(100_000))
with stream.getbuffer():
    stream.__init__(b"")
