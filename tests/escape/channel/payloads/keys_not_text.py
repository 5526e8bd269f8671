"""Ask with keys that are no texts in the payload."""

# stopped: violation not_json_like

liar.send_data(payload={"a": {1: 2}})
