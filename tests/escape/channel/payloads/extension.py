"""Ask with an extension of the wire format in the payload."""

# stopped: violation not_json_like

import msgspec

worker.send_data(payload={"a": msgspec.msgpack.Ext(7, b"x")})
