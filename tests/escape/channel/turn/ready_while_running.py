"""Send the handshake again while the code runs."""

# stopped: violation out_of_turn

worker.raw(worker.ready())
