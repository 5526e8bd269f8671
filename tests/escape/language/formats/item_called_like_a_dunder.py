"""Read an attribute by a format that asks for an item."""

# stopped: raises KeyError
# because: '__class__'

'{0[__class__]}'.format({})
escaped()
