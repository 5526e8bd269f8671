"""Send a message of very many fields."""

# stopped: violation too_many_items

worker.raw(frame(encoder.encode({f"f{number}": 0 for number in range(150_000)})))
