"""Ask with bytes in the payload."""

# stopped: violation not_json_like

worker.send_data(payload={"a": b"\0"})
