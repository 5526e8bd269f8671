"""Shake hands again while the code runs."""

# stopped: violation out_of_turn

liar.raw(liar.ready())
