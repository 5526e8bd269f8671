"""Make a stream grow while its memory is read."""

# stopped: raises BufferError
# because: Existing exports of data: object cannot be re-sized

import io
stream = io.BytesIO(bytes(100))
with stream.getbuffer():
    stream.write(bytes(100_000))
