"""Ask with more items in the payload than there may be."""

# stopped: violation too_many_items

worker.send_data(payload={"a": [0] * 200_000})
