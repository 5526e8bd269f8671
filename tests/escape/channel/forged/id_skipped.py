"""Leave out a number in the sequence of ids."""

# stopped: violation forged_id

liar.stamp()
liar.raw(liar.touch())
