"""Give a result with an extension of the wire format in it."""

# stopped: violation garbage

import msgspec

worker.say(ResultMessage, value=encoder.encode(msgspec.msgpack.Ext(99, b"x")))
