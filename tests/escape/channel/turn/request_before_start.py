"""Ask before the code has started."""

# stopped: violation out_of_turn
# when: before_start

worker.raw(worker.touch())
