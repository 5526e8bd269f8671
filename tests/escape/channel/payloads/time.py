"""Ask with a time of the wire format in the payload."""

# stopped: violation not_json_like

import datetime as dt

worker.send_data(payload={"a": dt.datetime.now(dt.UTC)})
