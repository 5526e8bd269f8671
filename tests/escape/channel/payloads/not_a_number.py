"""Ask with NaN in the payload."""

# stopped: violation not_json_like

worker.send_data(payload={"a": float("nan")})
