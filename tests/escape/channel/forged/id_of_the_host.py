"""Send a message with an id as the host gives them."""

# stopped: violation forged_id

liar.raw(liar.touch(id="host:3"))
