"""Mix frames of two executions."""

# stopped: violation forged_id

liar.raw(liar.made(OutputMessage, text="mine") + liar.touch(id="f" * 32 + ":3"))
