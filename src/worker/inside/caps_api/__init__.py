"""`caps` in user space: the wrappers, their payload checks and the static check.

Nothing here grants a capability; the broker decides.
"""
