"""Write the right number in another way."""

# stopped: violation forged_id

worker.raw(worker.touch(id=f"{worker.execution_id}:002"))
