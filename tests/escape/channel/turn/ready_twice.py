"""Shake hands twice at once."""

# stopped: violation out_of_turn
# when: before_ready

liar.raw(liar.ready() * 2)
