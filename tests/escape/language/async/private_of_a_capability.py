"""Read the channel from `caps`."""

# stopped: raises AttributeError
# because: has no private attributes
# where: worker

take(caps._domains)
escaped()
