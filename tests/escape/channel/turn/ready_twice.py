"""Send the handshake twice in a row."""

# stopped: violation out_of_turn
# when: before_ready

worker.raw(worker.ready() * 2)
