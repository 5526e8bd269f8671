"""Mix frames of two executions."""

# stopped: violation forged_id

worker.raw(worker.made(OutputMessage, text="mine") + worker.touch(id="f" * 32 + ":3"))
