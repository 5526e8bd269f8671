"""Ask before the handshake."""

# stopped: violation out_of_turn
# when: before_ready

liar.raw(liar.touch())
