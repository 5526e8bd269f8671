"""Give `getattr` the name of a frame with a letter that identifiers would fold."""

# stopped: raises AttributeError
# because: 'generator' object has no attribute 'ｇi_frame'

take(getattr((n for n in ()), "ｇi_frame"))
