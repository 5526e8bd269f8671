"""Initialise a stream again while its memory is read."""

# stopped: raises BufferError
# because: Existing exports of data: object cannot be re-sized

import io
stream = io.BytesIO(bytes(100_000))
view = stream.getbuffer()
stream.__init__(b"")
