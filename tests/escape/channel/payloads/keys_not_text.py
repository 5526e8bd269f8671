"""Ask with keys that are not strings in the payload."""

# stopped: violation not_json_like

worker.send_data(payload={"a": {1: 2}})
