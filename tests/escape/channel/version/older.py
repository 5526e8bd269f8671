"""Claim a version of the protocol that was never there."""

# stopped: violation version
# when: before_ready

liar.raw(liar.ready(protocol=0))
