"""Count the ids below zero."""

# stopped: violation forged_id

worker.raw(worker.touch(id=f"{worker.execution_id}:-2"))
