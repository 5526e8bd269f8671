"""Make a stream anew while its memory is looked at."""

# stopped: raises AttributeError
# because: a `BytesIO` cannot be initialized again in the sandbox

import io
stream = io.BytesIO(bytes(100_000))
view = stream.getbuffer()
stream.__init__(b"")
