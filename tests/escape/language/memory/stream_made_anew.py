"""Make a stream anew while its memory is looked at."""

# stopped: raises BufferError
# because: Existing exports of data: object cannot be re-sized

import io
stream = io.BytesIO(bytes(100_000))
view = stream.getbuffer()
stream.__init__(b"")
