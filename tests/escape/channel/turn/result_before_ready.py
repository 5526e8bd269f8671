"""Give a result before the handshake."""

# stopped: violation out_of_turn
# when: before_ready

worker.finish(1)
