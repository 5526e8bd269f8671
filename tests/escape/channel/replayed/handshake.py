"""Send the handshake once more, byte for byte, after the start."""

# stopped: violation out_of_turn

worker.raw(worker.ready(id="w:1"))
