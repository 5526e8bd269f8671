"""Claim a version of the protocol that does not exist."""

# stopped: violation version
# when: before_ready

liar.raw(liar.ready(protocol=99))
