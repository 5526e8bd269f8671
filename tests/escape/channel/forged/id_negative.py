"""Count the ids below zero."""

# stopped: violation forged_id

liar.raw(liar.touch(id=f"{liar.execution_id}:-2"))
