"""Give the result of code that never started."""

# stopped: violation contradiction
# when: before_start

worker.finish("never started, and yet")
