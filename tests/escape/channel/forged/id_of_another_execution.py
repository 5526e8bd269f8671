"""Send a message with the id of another execution."""

# stopped: violation forged_id

liar.raw(liar.touch(id=f"{liar.source}:2"))
