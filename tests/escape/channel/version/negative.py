"""Claim a version of the protocol below zero."""

# stopped: violation version
# when: before_ready

worker.raw(worker.ready(protocol=-1))
