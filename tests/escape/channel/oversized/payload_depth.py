"""Ask with a payload that is deeper than it may be."""

# stopped: violation too_deep

payload: dict[str, Any] = {}
for _ in range(200):
    payload = {"a": payload}
worker.send_data(payload=payload)
