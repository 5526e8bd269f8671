"""Read an attribute by the percent operator."""

# stopped: raises KeyError
# because: 'a.real'

"%(a.real)s" % {"a": 1}
escaped()
