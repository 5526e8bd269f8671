"""Leave out a number in the sequence of ids."""

# stopped: violation forged_id

worker.stamp()
worker.raw(worker.touch())
