"""Send the handshake once more, byte for byte, after the start."""

# stopped: violation out_of_turn

liar.raw(liar.ready(id="w:1"))
