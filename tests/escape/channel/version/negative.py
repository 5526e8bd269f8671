"""Claim a version of the protocol below zero."""

# stopped: violation version
# when: before_ready

liar.raw(liar.ready(protocol=-1))
