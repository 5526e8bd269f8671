"""Ask before the handshake."""

# stopped: violation out_of_turn
# when: before_ready

worker.raw(worker.touch())
