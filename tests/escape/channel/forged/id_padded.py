"""Write the right number in another way."""

# stopped: violation forged_id

liar.raw(liar.touch(id=f"{liar.execution_id}:002"))
