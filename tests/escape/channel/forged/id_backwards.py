"""Count the ids backwards."""

# stopped: violation forged_id

worker.raw(worker.touch(id=f"{worker.execution_id}:0"))
